// Mermaid diagrams, drawn at build time: GitHub draws them itself, and a page of the site loads no script for them.
import { renderMermaidSVG } from 'beautiful-mermaid'

/** How far a diagram shrinks to fit its page. A narrower page scrolls it. */
const SMALLEST = 0.9

const STYLE = /<style>(.*?)<\/style>/s

const draw = (text) => renderMermaidSVG(text, { transparent: true })

/** The style of all diagrams, which pages can't contain. Its font would come from another host. */
export const diagramStyle = `.diagram { ${STYLE.exec(draw('graph LR\n  a --> b'))[1].replace(/@import[^;]*;[^\n]*|text {.*}/g, '')} }`

/** A markdown-it plugin that draws blocks of the language `mermaid`. */
export function diagramPlugin(md) {
  const { fence } = md.renderer.rules
  md.renderer.rules.fence = (tokens, i, ...rest) => {
    if (tokens[i].info.trim() !== 'mermaid') return fence(tokens, i, ...rest)
    const svg = draw(tokens[i].content).replace(STYLE, '')
    const width = Math.round(Number(/ width="([\d.]+)"/.exec(svg)[1]) * SMALLEST)
    const sized = svg.replace(/ style="[^"]*"/, ` role="img" aria-label="Diagram" style="min-width: ${width}px"`)
    return `<div class="diagram" tabindex="0">${sized}</div>\n`
  }
}
