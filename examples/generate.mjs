// Generates examples/media and the three manifests of "Tidal Hours", an image for every hour of the day, and the
// images of the layers in examples/art:
//   node examples/generate.mjs
// The output is deterministic, and `npm run check` compares it with the committed files.
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { paletteOf } from './media-source/colour.mjs'
import { artLayers } from './media-source/layers.mjs'
import { PIECES, RECEIVERS, TECHNIQUES } from './media-source/pieces.mjs'
import { shore } from './media-source/shore.mjs'

const SIZE = 480
const LAYER_SIZE = 320

/** The hour whose row shows every feature of a row: 10 metadata items, including 3 files. */
const FULL_ROW = 12

/** The folders of examples/art that are generated. */
const ART_FOLDERS = ['layers', 'special']

/** Writes examples/ under `dir`. */
export async function generateExamples(dir) {
  const examples = join(dir, 'examples')
  await rm(join(examples, 'media'), { recursive: true, force: true })
  await mkdir(join(examples, 'media'), { recursive: true })
  const rows = []
  for (const piece of PIECES) {
    const { row, files } = draw(piece)
    for (const [name, content] of Object.entries(files)) await writeFile(join(examples, name), content)
    rows.push(row)
  }
  await writeFile(join(examples, 'drop.csv'), toCsv(rows))
  await writeFile(join(examples, 'drop.json'), `${JSON.stringify(rows, null, 2)}\n`)
  await writeFile(join(examples, 'drop.jsonl'), rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
  for (const folder of ART_FOLDERS) await rm(join(examples, 'art', folder), { recursive: true, force: true })
  for (const [name, content] of Object.entries(artLayers(LAYER_SIZE))) {
    await mkdir(dirname(join(examples, 'art', name)), { recursive: true })
    await writeFile(join(examples, 'art', name), content)
  }
}

function draw({ hour, title, description }) {
  const { name: technique, extension, draw } = TECHNIQUES[hour % TECHNIQUES.length]
  const palette = paletteOf(hour)
  const clock = String(hour).padStart(2, '0')
  const slug = `${clock}-${title.toLowerCase().replaceAll(' ', '-')}`
  const image = `media/${slug}.${extension}`
  const files = { [image]: draw(SIZE, seedOf(hour), palette, hour) }
  const row = {
    id: `hour-${clock}`,
    title: `Tidal Hours ${clock}: ${title}`,
    description,
    image,
    receiver: RECEIVERS[hour % RECEIVERS.length],
    'attr:hour': `${clock}:00`,
    'attr:technique': technique,
    'attr:palette': palette.name,
  }
  if (hour === FULL_ROW) {
    row['file:study'] = `media/${slug}-study.png`
    row['file:swatches'] = `media/${slug}-swatches.svg`
    row['extra:artist'] = 'a small program'
    row['extra:series'] = 'Tidal Hours'
    row['extra:year'] = '2026'
    row['extra:licence'] = 'CC0-1.0'
    files[row['file:study']] = shore(SIZE / 2, seedOf(hour) + 1, palette, hour)
    files[row['file:swatches']] = swatches(palette)
  }
  return { row, files }
}

function seedOf(hour) {
  return 1000 + hour * 7919
}

function swatches({ sky, haze, far, near, deep, light }) {
  const bars = [sky, haze, far, near, deep, light].map(
    (ink, i) => `<path fill="${ink}" d="M${i * 80} 0h80v160H${i * 80}z"/>`,
  )
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 480 160" width="480" height="160">${bars.join('')}</svg>\n`
}

function toCsv(rows) {
  const columns = [...new Set(rows.flatMap(Object.keys))]
  const cell = (value = '') => (/[",\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value)
  return [columns, ...rows.map((row) => columns.map((column) => row[column]))]
    .map((values) => `${values.map(cell).join(',')}\n`)
    .join('')
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await generateExamples(join(dirname(fileURLToPath(import.meta.url)), '..'))
}
