// The rules for the pages' scripts. TypeScript checks the names and the types.

import js from "@eslint/js";

export default [
  js.configs.recommended,
  {
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "no-undef": "off", // TypeScript knows the names of a browser
      "arrow-body-style": "error",
      complexity: ["error", 16],
      curly: ["error", "multi-line"],
      eqeqeq: "error",
      "id-length": ["error", { min: 3, properties: "never", exceptions: ["_", "x", "y", "id", "to", "go"] }],
      "max-depth": ["error", 3],
      "max-len": ["error", { code: 120 }],
      "max-lines": ["error", 300],
      "max-lines-per-function": ["error", 40],
      "max-params": ["error", 5],
      "no-console": ["error", { allow: ["error"] }],
      "no-else-return": "error",
      "no-eval": "error",
      "no-implied-eval": "error",
      "no-nested-ternary": "error",
      "no-param-reassign": "error",
      "no-shadow": "error",
      "no-throw-literal": "error",
      "no-var": "error",
      "object-shorthand": "error",
      "prefer-const": "error",
      "prefer-template": "off", // long texts are joined over lines
      quotes: ["error", "double", { avoidEscape: true, allowTemplateLiterals: false }],
      semi: "error",
      "sort-imports": ["error", { ignoreCase: true, ignoreDeclarationSort: true }],
    },
  },
];
