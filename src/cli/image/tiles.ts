import type { ManifestRow } from '../../manifest/row.ts'
import type { Deps } from '../deps.ts'
import { safe } from '../io/io.ts'
import { cutToWidth, displayWidth } from '../text/display-width.ts'
import { wrap } from '../text/wrap.ts'
import { decodeImage } from './decode.ts'
import { drawPixels, type ImageArea, scaleToArea, toPixelSize } from './draw.ts'
import type { DrawMethod } from './draw-method.ts'
import { ImageError, type Pixels } from './pixels.ts'
import { readImage } from './read-image.ts'
import type { Size } from './scale.ts'

interface TileLayout {
  way: DrawMethod
  tile: ImageArea
  gap: number
  perLine: number
}

/** An image with its title. */
export interface TileSource {
  title: string
  /** @throws ImageError if the image can't be drawn */
  read(): Promise<Pixels>
}

/** Returns the image of a row. */
export const rowTile = (row: ManifestRow): TileSource => ({ title: row.metadata.title, read: () => readRowImage(row) })

interface Tile {
  image: Pixels
  title: string[]
  /** The reason why the tile has an empty frame instead of an image; an empty string if it has an image. */
  problem: string
}

const TITLE_LINES = 2
const FRAME_COLOR = [104, 104, 104, 255]
/** Thickness of the frame as a fraction of its width. The minimum is one pixel. */
const FRAME_THICKNESS_RATIO = 1 / 100

/** Draws images side by side, with their titles below. Sends each line of tiles as a single image. */
export async function drawTiles(
  { io }: Pick<Deps, 'io'>,
  sources: readonly TileSource[],
  layout: TileLayout,
): Promise<void> {
  const { way, tile, gap, perLine } = layout
  const space = toPixelSize({ columns: gap, rows: 0 }, way).width
  for (let at = 0; at < sources.length; at += perLine) {
    const tiles = await Promise.all(sources.slice(at, at + perLine).map((source) => readTile(source, tile, way)))
    const images = tiles.map(({ image }) => image)
    const image = await drawPixels(sideBySide(images, toPixelSize(tile, way), space), way)
    const captions = Array.from({ length: Math.max(...tiles.map(({ title }) => title.length)) }, (_, line) =>
      alignInColumns(tiles, tile, gap, ({ title }) => title[line] ?? ''),
    )
    const why = alignInColumns(tiles, tile, gap, (drawnTile) => drawnTile.problem)
    if (why !== '') captions.push(io.outPaint.dim(why))
    await io.print(`${image}${captions.join('\n')}\n\n`)
  }
}

async function readTile(source: TileSource, room: ImageArea, way: DrawMethod): Promise<Tile> {
  const title = titleLines(source.title, room.columns)
  try {
    return { image: scaleToArea(await source.read(), room, way), title, problem: '' }
  } catch (error) {
    if (!(error instanceof ImageError)) throw error
    return { image: createFrame(toPixelSize(room, way)), title, problem: error.label }
  }
}

async function readRowImage({ metadata, localFiles }: ManifestRow): Promise<Pixels> {
  const isImage = ({ key }: { key: string }) => key === 'image'
  const path = localFiles.find(isImage)?.path
  if (path !== undefined) return await decodeImage(await readImage(path))
  const isElsewhere = metadata.file_fields.some(isImage)
  throw isElsewhere ? new ImageError('is not a local file', 'not local') : new ImageError('is none', 'no image')
}

function titleLines(title: string, columns: number): string[] {
  // Truncate the title before wrapping, because it can be as large as a megabyte.
  const [first = '', ...rest] = wrap(safe(title.slice(0, 8 * columns)), columns)
  const lines = rest.length < TITLE_LINES ? [first, ...rest] : [first, rest.join(' ')]
  return lines.map((line) => cutToWidth(line, columns))
}

function alignInColumns(
  tiles: readonly Tile[],
  { columns }: ImageArea,
  gap: number,
  textOf: (tile: Tile) => string,
): string {
  const padded = tiles.map((tile) => textOf(tile) + ' '.repeat(Math.max(0, columns - displayWidth(textOf(tile)))))
  return padded.join(' '.repeat(gap)).trimEnd()
}

/** Returns an empty frame to draw instead of a missing image. */
function createFrame({ width, height }: Size): Pixels {
  const data = new Uint8Array(width * height * 4)
  const thick = Math.max(1, Math.round(width * FRAME_THICKNESS_RATIO))
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const isInside = x >= thick && y >= thick && x < width - thick && y < height - thick
      if (!isInside) data.set(FRAME_COLOR, (y * width + x) * 4)
    }
  }
  return { width, height, data }
}

/** Combines images side by side. Each image is centered in its own box. */
function sideBySide(images: readonly Pixels[], box: Size, gap: number): Pixels {
  const width = images.length * (box.width + gap) - gap
  const data = new Uint8Array(width * box.height * 4)
  for (const [i, image] of images.entries()) {
    const left = i * (box.width + gap) + Math.floor((box.width - image.width) / 2)
    const top = Math.floor((box.height - image.height) / 2)
    for (let y = 0; y < image.height; y++) {
      const row = image.data.subarray(y * image.width * 4, (y + 1) * image.width * 4)
      data.set(row, ((top + y) * width + left) * 4)
    }
  }
  return { width, height: box.height, data }
}
