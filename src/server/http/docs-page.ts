/** The page of `/docs`: its markup, its few lines of script, and what it adds to the look of Swagger UI. */
export const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>gdn API reference</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/swagger-ui.css">
<link rel="stylesheet" href="/docs/page.css">
</head>
<body>
<main id="reference"><p class="wait">Reading the reference. It needs JavaScript; the same is in <a href="/openapi.json">/openapi.json</a>.</p></main>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/page.js"></script>
</body>
</html>
`

export const SCRIPT = `'use strict'
const dark = matchMedia('(prefers-color-scheme: dark)')
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', follow)
follow()
SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#reference',
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: -1,
  defaultModelExpandDepth: 3,
  displayRequestDuration: true,
  showExtensions: false,
  validatorUrl: null,
  // A key that was typed in is forgotten with the page.
  persistAuthorization: false,
})
`

export const STYLE = `body { margin: 0; background: #fff; }
html.dark-mode body { background: #1c2022; }
.wait { font: 16px/1.5 system-ui, sans-serif; padding: 1.5rem; }
.swagger-ui, .swagger-ui .info .title, .swagger-ui .opblock-tag, .swagger-ui .opblock .opblock-summary-description,
.swagger-ui .btn, .swagger-ui label, .swagger-ui table thead tr td, .swagger-ui table thead tr th
{ font-family: system-ui, -apple-system, 'Segoe UI', sans-serif; }
.swagger-ui .info { margin: 2rem 0 1rem; }
.swagger-ui .scheme-container { padding: 1rem 0; box-shadow: none; background: transparent; }
.swagger-ui .opblock-tag small { padding: 0 0.75rem; }
.swagger-ui .scheme-container .servers-title, .swagger-ui .scheme-container .servers, .swagger-ui .response-col_links { display: none; }
html.dark-mode .swagger-ui .headers-wrapper td, html.dark-mode .swagger-ui .headers-wrapper td * { color: #b7bcbf; }
.swagger-ui .headers-wrapper .header-col { font-size: 0.8rem; }
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
