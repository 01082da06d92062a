/** Styles of the page about an edition, in addition to those of previews and reports. */
export const ART_STYLE = `
main>h2{margin:36px 0 4px;font-size:1.1875rem;font-weight:660;letter-spacing:-.014em}
main section{content-visibility:visible;contain-intrinsic-size:none}
main>.note{margin:0 0 14px}
.tables{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,360px),1fr));gap:16px;margin-top:14px}
.tables.wide{grid-template-columns:minmax(0,1fr)}
.panel{min-width:0;overflow-x:auto;padding:12px 16px;border:1px solid var(--line);border-radius:12px;background:var(--surface)}
table{width:100%;border-collapse:collapse;font-size:.875rem;font-variant-numeric:tabular-nums}
caption{padding-bottom:6px;text-align:start;font-size:1rem;font-weight:640;overflow-wrap:anywhere}
th,td{padding:5px 10px 5px 0;border-top:1px solid var(--line);text-align:start;vertical-align:top;overflow-wrap:anywhere}
thead th{border-top:0;color:var(--muted);font-size:.8125rem;font-weight:560;white-space:nowrap;overflow-wrap:normal}
tbody th{font-weight:500;min-width:6em}
th:last-child,td:last-child{padding-inline-end:0}
.wide table{min-width:600px}
.number{text-align:end;white-space:nowrap}
.panel .bar{height:6px;min-width:48px;margin-top:8px}
.bar .some{fill:var(--accent)}
.reasons{margin:14px 0 0;padding:12px 18px;border:1px solid color-mix(in srgb,var(--busy) 28%,var(--line));border-radius:12px;background:var(--busy-soft);font-size:.875rem}
.reasons li{padding:2px 0;overflow-wrap:anywhere}
.reasons p{color:var(--busy);font-weight:620}
/* The bars say the same as the numbers beside them, and the number of an NFT identifies it without its title. */
@media (max-width:480px){.tables:not(.wide) :is(th,td):last-child,.wide :is(th,td):nth-child(3):nth-last-child(3){display:none}.wide table{min-width:0}.wide .number{min-width:0}}
@media print{.panel{break-inside:avoid}}
`
