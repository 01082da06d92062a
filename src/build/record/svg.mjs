// Draws terminal frames as one SVG. The animation needs only CSS and no script. For readers who prefer reduced motion,
// the SVG is static.
import { encode } from 'fast-png'

const CELL = { width: 8.4, height: 18 }
const PAD = 16
const BAR = 34
const FONT = 'ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace'
const SIXTEEN = ['#3b4252', '#ff7b85', '#4fd399', '#f3b75a', '#8ab4ff', '#d6a6ff', '#6fd6e0', '#d8dbe2']
const BRIGHT = ['#7b8494', '#ff9a91', '#7ce3b5', '#ffd083', '#a9c8ff', '#e4c4ff', '#97e6ee', '#ffffff']
const BLOCK = '▀'

/**
 * @param frames the screens, with their duration in milliseconds
 * @param title the title of the window, and the text for screen readers
 */
export function animation(frames, { columns, rows, title }) {
  const width = Math.ceil(columns * CELL.width + 2 * PAD)
  const height = Math.ceil(rows * CELL.height + PAD + BAR + 8)
  const total = frames.reduce((sum, { ms }) => sum + ms, 0)
  const lines = new Map()
  const nameOf = (line) => {
    const drawn = drawLine(line)
    if (drawn === '') return null
    if (!lines.has(drawn)) lines.set(drawn, `l${lines.size}`)
    return lines.get(drawn)
  }
  const groups = frames.map((frame, i) => {
    const used = frame.lines.map((line, y) => [nameOf(line), y]).filter(([name]) => name !== null)
    const uses = used.map(([name, y]) => `<use href="#${name}" y="${round(y * CELL.height)}"/>`).join('')
    return `<g class="f${i === frames.length - 1 ? ' last' : ''}" style="animation-name:f${i}">${uses}</g>`
  })
  let at = 0
  const keyframes = frames.map(({ ms }, i) => {
    const [from, to] = [(at / total) * 100, ((at + ms) / total) * 100]
    at += ms
    const before = i === 0 ? '' : '0%{visibility:hidden}'
    const after = i === frames.length - 1 ? '100%{visibility:visible}' : `${to.toFixed(3)}%,100%{visibility:hidden}`
    return `@keyframes f${i}{${before}${from.toFixed(3)}%{visibility:visible}${after}}`
  })
  const defs = [...lines].map(([drawn, name]) => `<g id="${name}">${drawn}</g>`).join('')
  const style = `text{font:14px/18px ${FONT};fill:#d8dbe2;white-space:pre}.d{fill:#8a92a1}.b{font-weight:700}${palette()}.f{visibility:hidden;animation:${(total / 1000).toFixed(2)}s step-end infinite}image{image-rendering:pixelated}${keyframes.join('')}@media(prefers-reduced-motion:reduce){.f{animation:none}.last{visibility:visible}}`
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${inXml(title)}"><title>${inXml(title)}</title><style>${style}</style><defs>${defs}</defs><rect width="${width}" height="${height}" rx="10" fill="#0e0f12"/><rect x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="9.5" fill="none" stroke="#272a31"/><g fill="#3a3e47"><circle cx="20" cy="18" r="5.5"/><circle cx="38" cy="18" r="5.5"/><circle cx="56" cy="18" r="5.5"/></g><g transform="translate(${PAD} ${BAR})">${groups.join('')}</g></svg>\n`
}

const palette = () => [...SIXTEEN, ...BRIGHT].map((value, i) => `.c${i}{fill:${value}}`).join('')

function drawLine(runs) {
  let drawn = ''
  for (let i = 0; i < runs.length; i++) {
    const run = runs[i]
    if (isImage(run)) {
      const from = i
      while (i + 1 < runs.length && isImage(runs[i + 1])) i++
      drawn += image(runs.slice(from, i + 1))
    } else drawn += text(run)
  }
  return drawn
}

const isImage = ({ text, fg }) => text[0] === BLOCK && typeof fg === 'string'

/** Draws half blocks as an image with two rows of pixels, which takes a hundredth of the size of the characters. */
function image(runs) {
  const cells = runs.flatMap(({ text, fg, bg }) => [...text].map(() => [fg, bg]))
  const data = new Uint8Array(cells.length * 2 * 4)
  for (const row of [0, 1]) {
    for (const [x, cell] of cells.entries()) {
      const value = Number.parseInt(String(cell[row] ?? '#0e0f12').slice(1), 16)
      data.set([value >> 16, (value >> 8) & 255, value & 255, 255], (row * cells.length + x) * 4)
    }
  }
  const png = Buffer.from(
    encode({ width: cells.length, height: 2, data, channels: 4, depth: 8 }, { zlib: { level: 9 } }),
  )
  const at = `x="${round(runs[0].x * CELL.width)}" width="${round(cells.length * CELL.width + 0.5)}" height="${CELL.height + 0.5}"`
  return `<image ${at} preserveAspectRatio="none" href="data:image/png;base64,${png.toString('base64')}"/>`
}

function text({ x, text, fg, bold, dim }) {
  const shown = text.trimEnd()
  if (shown === '') return ''
  const start = shown.length - shown.trimStart().length
  const words = shown.trimStart()
  const names = [typeof fg === 'number' ? `c${fg}` : '', dim ? 'd' : '', bold ? 'b' : ''].filter((name) => name !== '')
  const look = `${names.length > 0 ? ` class="${names.join(' ')}"` : ''}${typeof fg === 'string' ? ` fill="${fg}"` : ''}`
  // Set the length of the text, because fonts differ in width and the columns must stay aligned.
  const length = round([...words].length * CELL.width)
  return `<text x="${round((x + start) * CELL.width)}" y="13.5" textLength="${length}"${look}>${inXml(words)}</text>`
}

const round = (value) => Math.round(value * 10) / 10
const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
const inXml = (value) => value.replace(/[&<>"]/g, (char) => ENTITIES[char])
