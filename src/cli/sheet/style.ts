/** Styles of previews and reports. Colors have the same names as in the web explorer. */
export const SHEET_STYLE = `
:root{color-scheme:light dark;--bg:light-dark(#fafafa,#0e0f12);--surface:light-dark(#fff,#16181d);--sunken:light-dark(#f1f2f4,#111317);--line:light-dark(#e6e7ea,#272a31);--line-strong:light-dark(#d3d5da,#3a3e47);--text:light-dark(#16181d,#eceef2);--muted:light-dark(#5b606b,#a0a6b2);--accent:light-dark(#4f46e5,#a5a8ff);--accent-soft:light-dark(#eeedfd,#24243f);--good:light-dark(#0f7a4d,#4fd399);--good-solid:light-dark(#1f9d66,#35b97f);--good-soft:light-dark(#e4f6ed,#12301f);--busy:light-dark(#8a5300,#f3b75a);--busy-solid:light-dark(#e39a24,#d9962c);--busy-soft:light-dark(#fdf1dc,#33250c);--bad:light-dark(#b3261e,#ff9a91);--bad-solid:light-dark(#d6453b,#e0574d);--bad-soft:light-dark(#fdebe9,#3a1714);--font:system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","Helvetica Neue",Arial,sans-serif;--mono:ui-monospace,"SF Mono","Cascadia Code",Menlo,Consolas,"DejaVu Sans Mono",monospace;--side:clamp(16px,3.4vw,40px)}
*,*::before,*::after{box-sizing:border-box}
html{background:var(--bg);color:var(--text);font:15px/1.55 var(--font);-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{max-width:calc(1320px + 2*var(--side));margin:0 auto;padding:clamp(28px,5vw,56px) var(--side) 72px;-webkit-font-smoothing:antialiased}
h1,h2,h3,p,ul,dl,dd{margin:0;padding:0}
ul{list-style:none}
h1{font-size:clamp(1.6rem,1.25rem + 1.5vw,2.25rem);line-height:1.2;font-weight:680;letter-spacing:-.022em;overflow-wrap:anywhere;text-wrap:balance}
a{color:var(--accent);text-decoration:underline;text-decoration-color:color-mix(in srgb,currentcolor 35%,transparent);text-underline-offset:.18em}
a:hover{text-decoration-color:currentcolor}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px;border-radius:6px}
code{font-family:var(--mono);font-size:.9em;font-variant-ligatures:none;overflow-wrap:anywhere}
.kicker{margin-bottom:6px;color:var(--muted);font-size:.8125rem;font-weight:560}
.stats{display:flex;flex-wrap:wrap;gap:10px;margin-top:24px}
.stats li{flex:1 1 118px;max-width:240px;padding:14px 18px 12px;border:1px solid var(--line);border-radius:12px;background:var(--surface)}
.stats b{display:block;font-size:1.5rem;line-height:1.25;font-weight:650;letter-spacing:-.02em;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
.stats span{color:var(--muted);font-size:.8125rem}
.stats .good b{color:var(--good)}.stats .bad b{color:var(--bad)}.stats .busy b{color:var(--busy)}
.bar{display:flex;height:8px;margin-top:16px;overflow:hidden;border-radius:4px;background:var(--sunken)}
.bar svg{display:block;width:100%;height:100%}
.bar .good{fill:var(--good-solid)}.bar .busy{fill:var(--busy-solid)}.bar .bad{fill:var(--bad-solid)}
header dl{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:5px 20px;margin-top:22px;font-size:.9375rem}
header dt{color:var(--muted)}
header dd{overflow-wrap:anywhere}
.faults{margin-top:24px;padding:16px 20px;border:1px solid color-mix(in srgb,var(--bad) 28%,var(--line));border-radius:12px;background:var(--bad-soft)}
.faults h2{margin-bottom:8px;color:var(--bad);font-size:1rem;font-weight:640}
.faults li{padding:3px 0;overflow-wrap:anywhere}
.faults a{color:inherit}
.faults .hint{color:var(--muted)}
.note{margin-top:18px;color:var(--muted);font-size:.875rem;max-width:76ch}
.filter{display:flex;flex-wrap:wrap;gap:6px;margin:32px 0 16px;padding:0;border:0}
.filter label{position:relative;padding:5px 13px;border:1px solid var(--line);border-radius:999px;background:var(--surface);color:var(--muted);font-size:.875rem;font-weight:560;cursor:pointer}
.filter label:hover{border-color:var(--line-strong);color:var(--text)}
.filter input{position:absolute;inset:0;margin:0;opacity:0;cursor:pointer}
.filter label:has(:checked){border-color:var(--accent);background:var(--accent-soft);color:var(--accent)}
.filter label:has(:focus-visible){outline:2px solid var(--accent);outline-offset:2px}
body:has(#only-faulty:checked) .card:not(.faulty),body:has(#only-good:checked) .card:not(.is-good),body:has(#only-busy:checked) .card:not(.is-busy),body:has(#only-bad:checked) .card:not(.is-bad),body:has(#only-new:checked) .card:not(.is-new),body:has(#only-burned:checked) .card:not(.is-burned),body:has(#only-changed:checked) .card:not(.is-changed){display:none}
main{--least:236px;--gap:20px}
main section{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,var(--least)),1fr));gap:var(--gap)}
main section{margin-bottom:var(--gap);content-visibility:auto;contain-intrinsic-size:auto 1000px auto 13500px}
#rows>section:last-child,noscript:last-of-type section{contain-intrinsic-size:auto 1000px auto 480px}
.finder{display:flex;flex-wrap:wrap;align-items:center;gap:6px 12px;margin-bottom:10px;scroll-margin-top:16px}
.finder[hidden],.pages[hidden],.told:empty{display:none}
.finder label,.told,.pages{color:var(--muted);font-size:.875rem}
.finder label{font-weight:560}
.finder input,.pages input,.pages button{padding:6px 12px;border:1px solid var(--line-strong);border-radius:8px;background:var(--surface);color:var(--text);font:inherit;font-size:.9375rem}
.finder input{flex:1 1 200px;max-width:420px;min-width:0}
.told{margin-bottom:14px}
.pages{display:flex;flex-wrap:wrap;align-items:center;gap:6px;margin-bottom:16px;font-variant-numeric:tabular-nums}
.pages input{width:5.5em}
.pages button{cursor:pointer}
.pages button:disabled{opacity:.55;cursor:default}
header + main{margin-top:32px}
.card{display:flex;flex-direction:column;min-width:0;overflow:hidden;border:1px solid var(--line);border-radius:12px;background:var(--surface);}
.card:target{border-color:var(--accent);box-shadow:0 0 0 3px color-mix(in srgb,var(--accent) 24%,transparent)}
.card.faulty,.card.is-bad{border-color:color-mix(in srgb,var(--bad) 45%,var(--line))}
.image{display:grid;place-items:center;aspect-ratio:1;overflow:hidden;border-bottom:1px solid var(--line);background:var(--sunken);color:var(--muted);font-size:.8125rem;text-align:center;overflow-wrap:anywhere}
.image svg{display:block;width:100%;height:100%}
.shared{position:absolute;width:0;height:0}
.image img{display:block;width:100%;height:100%;object-fit:contain;color:var(--muted);font-size:.8125rem;line-height:1.4}
.image p{max-width:100%;padding:18px}
.image b{display:block;color:var(--text);font-weight:560}
.text{display:flex;flex-direction:column;gap:8px;padding:14px 16px 16px;min-width:0}
.where{display:flex;flex-wrap:wrap;align-items:center;gap:4px 8px;color:var(--muted);font-size:.8125rem;font-variant-numeric:tabular-nums}
.where a{color:inherit}
.where span,.where a{overflow:hidden;max-width:100%;text-overflow:ellipsis;white-space:nowrap}
.badge{padding:1px 9px;border-radius:999px;background:var(--sunken);color:var(--muted);font-size:.75rem;font-weight:620}
.badge.good{background:var(--good-soft);color:var(--good)}.badge.busy{background:var(--busy-soft);color:var(--busy)}.badge.bad{background:var(--bad-soft);color:var(--bad)}
.card h2{font-size:1rem;line-height:1.35;font-weight:640;letter-spacing:-.011em;overflow-wrap:anywhere}
.clamp{display:-webkit-box;overflow:hidden;-webkit-box-orient:vertical;-webkit-line-clamp:3;line-clamp:3}
.description{color:var(--muted);font-size:.9375rem;line-height:1.5;overflow-wrap:anywhere;white-space:pre-line}
.tags{display:flex;flex-wrap:wrap;gap:5px}
.tags li{max-width:100%;padding:2px 9px;border-radius:7px;background:var(--sunken);font-size:.8125rem;overflow-wrap:anywhere}
.tags span{color:var(--muted)}
.problems{display:flex;flex-direction:column;gap:7px;padding:10px 12px;border-radius:8px;background:var(--bad-soft);font-size:.875rem;overflow-wrap:anywhere}
.problems code{color:var(--bad);font-size:.8125rem}
.problems .hint{display:block;color:var(--muted)}
details{font-size:.8125rem}
summary{color:var(--muted);cursor:pointer;font-weight:560}
summary:hover{color:var(--text)}
details ol{display:grid;gap:8px;margin:8px 0 0;padding:0;list-style:none;overflow-wrap:anywhere}
details li b{font-weight:600;text-transform:capitalize}
details li>span{display:block;color:var(--muted);font-variant-numeric:tabular-nums}
details dl{display:grid;gap:1px;margin-top:8px}
details dt{color:var(--muted)}
details dd{margin-bottom:7px;overflow-wrap:anywhere;white-space:pre-line}
footer{margin-top:48px;padding-top:18px;border-top:1px solid var(--line);color:var(--muted);font-size:.8125rem}
.none{padding:64px 0;color:var(--muted);text-align:center}
@media (max-width:560px){main{--least:160px;--gap:12px}.text{padding:11px 12px 13px}.stats li{flex-basis:104px;padding:11px 14px 10px}header dl{grid-template-columns:1fr;gap:0}header dd{margin-bottom:8px}}
@media print{:root{color-scheme:light}.bar,.badge,.tags li,.problems,.faults{print-color-adjust:exact;-webkit-print-color-adjust:exact}body{padding:0;max-width:none}html{font-size:11px}.filter,.finder,.pages,.told,details:not([open]){display:none}main{--gap:10px}main section{grid-template-columns:repeat(4,1fr);content-visibility:visible}.card{break-inside:avoid}.clamp{display:block}a{color:inherit;text-decoration:none}.stats li{padding:8px 12px}}
@media (scripting:none){body:has(.filter input:not(#all):checked) main{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,var(--least)),1fr));gap:var(--gap)}body:has(.filter input:not(#all):checked) main :is(noscript,section){display:contents}}
@media (forced-colors:active){.badge,.bar{forced-color-adjust:none}}
`
