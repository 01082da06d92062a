/**
 * The HTML page of `/docs`: its markup, and styles in addition to those of Swagger UI. Its script is
 * src/explorer/docs.ts.
 */
export const DOCS_PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>gdn API reference</title>
<link rel="icon" href="data:,">
<script src="/docs/theme.js"></script>
<link rel="stylesheet" href="/docs/swagger-ui.css">
<link rel="stylesheet" href="/docs/page.css">
</head>
<body>
<nav class="top" aria-label="gdn"><a href="/">Explorer</a><span aria-current="page">API</span></nav>
<main id="reference"><p class="wait">Loading the API reference. This page needs JavaScript. The same content is in <a href="/openapi.json">/openapi.json</a>.</p></main>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/page.js"></script>
</body>
</html>
`

export const DOCS_STYLE = `body { margin: 0; background: #fff; }
html.dark-mode body { background: #1c2022; }
.wait { font: 16px/1.5 sans-serif; padding: 1.5rem; }
.swagger-ui .info { margin: 2rem 0 1rem; }
.swagger-ui .scheme-container { padding: 1rem 0; box-shadow: none; background: transparent; }
.swagger-ui .opblock-tag small { padding: 0 0.75rem; }
.swagger-ui .scheme-container .servers-title, .swagger-ui .scheme-container .servers, .swagger-ui .response-col_links { display: none; }
html.dark-mode .swagger-ui .headers-wrapper td, html.dark-mode .swagger-ui .headers-wrapper td * { color: #b7bcbf; }
.swagger-ui .headers-wrapper .header-col { font-size: 0.8rem; }
.top { display: flex; gap: 1.25rem; max-width: 1460px; margin: 0 auto; padding: 1rem 20px 0; box-sizing: border-box; font: 15px/1.5 sans-serif; }
.top a { color: #4338ca; }
.top span { color: #5b606b; }
html.dark-mode .top a { color: #b4b7ff; }
html.dark-mode .top span { color: #b7bcbf; }
.swagger-ui .secret { -webkit-text-security: disc; }
.swagger-ui .warning { max-width: 46rem; margin: 0 0 1rem; padding: 0.75rem 1rem; border-left: 4px solid #d6453b; background: #fdebe9; color: #3b3f46; font: 15px/1.5 sans-serif; }
html.dark-mode .swagger-ui .warning { background: #3a1714; color: #ffd9d5; }
.swagger-ui .next-step { margin: 0.5rem 0 1rem; }
:focus-visible { outline: 2px solid #2f7de1; outline-offset: 2px; }
@media (max-width: 640px) {
  .swagger-ui .wrapper { padding: 0 12px; }
  .swagger-ui .opblock-tag { display: block; font-size: 1.25rem; position: relative; padding-right: 2.5rem; }
  .swagger-ui .opblock-tag small { display: block; padding: 0; }
  .swagger-ui .opblock-tag .expand-operation { position: absolute; right: 0; top: 0.75rem; }
  .swagger-ui .opblock .opblock-summary { flex-wrap: wrap; }
  .swagger-ui .opblock .opblock-summary-path { max-width: none; flex: 1; overflow-wrap: anywhere; }
  .swagger-ui .opblock .opblock-summary-description { flex-basis: 100%; padding: 0.4rem 0 0.2rem; text-align: left; }
  .swagger-ui .parameters-col_description { margin: 0; }
  .swagger-ui table.parameters, .swagger-ui table.parameters > tbody, .swagger-ui table.parameters > tbody > tr,
  .swagger-ui table.parameters > tbody > tr > td { display: block; width: auto; }
  .swagger-ui table.parameters > thead { display: none; }
  .swagger-ui .responses-inner { padding: 12px; }
  .swagger-ui table.responses-table, .swagger-ui table.responses-table > tbody,
  .swagger-ui table.responses-table > tbody > tr, .swagger-ui table.responses-table > tbody > tr > td { display: block; width: auto; }
  .swagger-ui table.responses-table > thead { display: none; }
  .swagger-ui .response-controls { flex-wrap: wrap; gap: 0.5rem; }
  .swagger-ui .parameters-col_description input, .swagger-ui .parameters-col_description textarea { max-width: 100%; }
}
`
