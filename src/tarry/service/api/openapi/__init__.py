"""The OpenAPI document, and the page that shows it.

`document.py` generates the document from the types of the operations. `docs_page.py` renders it as
HTML, with `docs.css` and `docs.js`. Not here: the operations themselves (`resources/`).
"""
