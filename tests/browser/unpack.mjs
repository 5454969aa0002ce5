// Open what the package has packed with Brotli: the browser, libraries it needs and a font.
import { createReadStream, createWriteStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { createBrotliDecompress } from "node:zlib";

const packed = "node_modules/@sparticuz/chromium/bin";
const opened = { "chromium.br": "chromium", "al2023.tar.br": "libraries.tar", "fonts.tar.br": "fonts.tar" };

for (const [from, to] of Object.entries(opened)) {
  await pipeline(
    createReadStream(`${packed}/${from}`),
    createBrotliDecompress(),
    createWriteStream(to),
  );
}
