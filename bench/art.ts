import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import sharp from 'sharp'
import { GDN, NODE, withFolder } from './backend.ts'
import { type Figure, reportRound } from './figures.ts'
import { timeWithPeak } from './processes.ts'

const LAYERS = 8
const TRAITS = 10
/** The layers with translucent shapes. The shapes of others are opaque, except for their edges. */
const TRANSLUCENT = [3, 6]
const SIDE = 1000
/** The script needs more than 20 minutes for 10,000 images, so only `--long` makes all of them. */
const IMAGES = process.argv.includes('--long') ? 10_000 : 1000
const ROUNDS = process.argv.includes('--long') ? 1 : 2
const THREADS = 2
const TIMES_AS_FAST = 5
/** 500 MB. */
const MAX_MIB = 476
const CANVAS = { name: '@napi-rs/canvas', version: '1.1.1' }

/** As HashLips does it: the layers of each image are read, drawn and encoded, one image after the other. */
const SCRIPT = `
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
const [module, layers, out] = process.argv.slice(1)
const { createCanvas, loadImage } = await import(module)
const canvas = createCanvas(${SIDE}, ${SIDE})
const context = canvas.getContext('2d')
context.imageSmoothingEnabled = false
const below = (count) => Math.floor(Math.random() * count)
const seen = new Set()
const all = []
mkdirSync(out + '/images', { recursive: true })
mkdirSync(out + '/json')
for (let edition = 1; edition <= ${IMAGES}; ) {
  const traits = Array.from({ length: ${LAYERS} }, () => below(${TRAITS}))
  const dna = traits.join('-')
  if (seen.has(dna)) continue
  seen.add(dna)
  const images = await Promise.all(
    traits.map((trait, layer) => loadImage(layers + '/' + layer + '/Trait ' + trait + '.png')),
  )
  context.clearRect(0, 0, ${SIDE}, ${SIDE})
  for (const image of images) {
    context.globalAlpha = 1
    context.globalCompositeOperation = 'source-over'
    context.drawImage(image, 0, 0, ${SIDE}, ${SIDE})
  }
  writeFileSync(out + '/images/' + edition + '.png', canvas.toBuffer('image/png'))
  const metadata = {
    name: 'NFT #' + edition,
    description: 'One of a collection.',
    image: edition + '.png',
    dna: createHash('sha1').update(dna).digest('hex'),
    attributes: traits.map((trait, layer) => ({ trait_type: 'Layer ' + layer, value: 'Trait ' + trait })),
  }
  all.push(metadata)
  writeFileSync(out + '/json/' + edition + '.json', JSON.stringify(metadata, null, 2))
  edition++
}
writeFileSync(out + '/json/_metadata.json', JSON.stringify(all, null, 2))
`

/** Images of an edition from layers, compared with a script that draws them as HashLips does. */
export function measure(): Promise<Figure[]> {
  return withFolder(async (folder) => {
    await drawLayers(join(folder, 'layers'))
    await writeFile(join(folder, 'art.yaml'), artFile())
    const canvas = pathToFileURL(join(await canvasPackage(), 'index.js')).href
    const env = { HOME: folder, PATH: process.env.PATH ?? '' }
    const ours: Awaited<ReturnType<typeof timeWithPeak>>[] = []
    const theirs: typeof ours = []
    for (let round = 0; round < ROUNDS; round++) {
      reportRound(round, ROUNDS)
      const [drop, build] = [join(folder, `drop-${round}`), join(folder, `build-${round}`)]
      const edition = ['--count', String(IMAGES), '--seed', 'bench', '--threads', String(THREADS)]
      const command = ['art', 'generate', join(folder, 'art.yaml'), ...edition, '--out', drop]
      ours.push(await timeWithPeak(NODE, [GDN, ...command], env))
      await expectImages(drop)
      theirs.push(
        await timeWithPeak(
          process.execPath,
          ['--input-type=module', '-e', SCRIPT, canvas, join(folder, 'layers'), build],
          env,
        ),
      )
      await expectImages(join(build, 'images'))
    }
    return figuresOf(ours, theirs)
  })
}

interface Measured {
  ms: number
  mib: number
}

function figuresOf(ours: readonly Measured[], theirs: readonly Measured[]): Figure[] {
  const perSecond = ({ ms }: Measured) => IMAGES / (ms / 1000)
  const what = `script with ${CANVAS.name}, as HashLips draws`
  const memory = ours.map(({ mib }) => mib)
  return [
    {
      what: `PNG images of ${SIDE} × ${SIDE}, ${LAYERS} layers, ${THREADS} threads`,
      unit: '/s',
      samples: ours.map(perSecond),
      against: { what, samples: theirs.map(perSecond) },
      budget: { atLeast: TIMES_AS_FAST },
    },
    {
      what: 'the same, peak RSS',
      unit: 'MiB',
      samples: memory,
      against: { what, samples: theirs.map(({ mib }) => mib) },
    },
    { what: 'peak RSS alone', unit: 'MiB', samples: memory, budget: { atMost: MAX_MIB } },
  ]
}

/** Loads the build script from its file, because it finds the repository by its own path. */
async function canvasPackage(): Promise<string> {
  const path = pathToFileURL(join(process.cwd(), 'src/build/cached-package.mjs')).href
  const { cachedPackage }: typeof import('../src/build/cached-package.mjs') = await import(path)
  return await cachedPackage(CANVAS.name, CANVAS.version)
}

async function expectImages(folder: string): Promise<void> {
  const images = (await readdir(folder, { recursive: true })).filter((path) => path.endsWith('.png'))
  if (images.length !== IMAGES) throw new Error(`${folder} has ${images.length} images, not ${IMAGES}`)
}

/** Shades of a background, and shapes with smooth edges on transparency, each of another size, place and color. */
async function drawLayers(folder: string): Promise<void> {
  for (let layer = 0; layer < LAYERS; layer++) {
    await mkdir(join(folder, String(layer)), { recursive: true })
    for (let trait = 0; trait < TRAITS; trait++) {
      const svg = Buffer.from(drawing(layer, trait))
      await sharp(svg)
        .ensureAlpha()
        .png({ compressionLevel: 9 })
        .toFile(traitPath(folder, layer, trait))
    }
  }
}

const traitPath = (folder: string, layer: number, trait: number): string =>
  join(folder, String(layer), `Trait ${trait}.png`)

function drawing(layer: number, trait: number): string {
  const hue = (layer * 47 + trait * 36) % 360
  const [dark, light] = [`hsl(${hue}, 60%, 35%)`, `hsl(${(hue + 30) % 360}, 70%, 70%)`]
  const shade = `<defs><radialGradient id="g"><stop stop-color="${light}"/><stop offset="1" stop-color="${dark}"/></radialGradient></defs>`
  const [x, y] = [500 + ((layer * 91) % 300) - 150, 500 + ((layer * 67 + trait * 13) % 300) - 150]
  const radius = 420 - layer * 45
  const shape =
    layer === 0
      ? '<rect width="1000" height="1000" fill="url(#g)"/>'
      : `<ellipse cx="${x}" cy="${y}" rx="${radius}" ry="${radius * (0.6 + trait / 25)}" fill="url(#g)" fill-opacity="${TRANSLUCENT.includes(layer) ? 0.6 : 1}" stroke="#222" stroke-width="8"/><path d="M${x - radius} ${y} Q ${x} ${y - radius} ${x + radius} ${y}" fill="none" stroke="${light}" stroke-width="14"/>`
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${SIDE}" height="${SIDE}">${shade}${shape}</svg>`
}

function artFile(): string {
  const traits = Array.from({ length: TRAITS }, (_, trait) => `      Trait ${trait}: { file: Trait ${trait}.png }\n`)
  const layers = Array.from(
    { length: LAYERS },
    (_, layer) => `  - name: Layer ${layer}\n    folder: layers/${layer}\n    traits:\n${traits.join('')}`,
  )
  return `title: "NFT #{number}"\ndescription: One of a collection.\nlayers:\n${layers.join('')}`
}
