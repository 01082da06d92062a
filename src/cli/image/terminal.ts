import type { Deps } from '../deps.ts'
import { hasBlockCharacters } from '../io/io.ts'
import type { ImageArea } from './draw.ts'
import { type DrawMethod, detectDrawMethod } from './draw-method.ts'

/**
 * Returns the method for drawing images on stdout. Returns null with -q, in JSON mode, and if stdout isn't a terminal
 * that can draw images.
 */
export function findDrawMethod({ io, env }: Pick<Deps, 'io' | 'env'>): DrawMethod | null {
  if (io.settings.machine || io.settings.quiet) return null
  return detectDrawMethod({ env, tty: io.stdoutTty, colors: io.outColors, hasBlocks: hasBlockCharacters(env) })
}

const MAX_AREA: ImageArea = { columns: 40, rows: 20 }
const MIN_IMAGE_COLUMNS = 4
/** Minimum height of an image in rows. If a terminal has less room, no image is drawn. */
const MIN_IMAGE_ROWS = 12
/** Terminal rows for the NFT's details below the image and for the shell prompt. */
const RECORD_ROWS = 14

/** Returns the area for one image; null if the terminal is too small. */
export function findImageArea({ columns, rows }: ImageArea): ImageArea | null {
  const room = {
    columns: Math.min(MAX_AREA.columns, columns - 2),
    rows: Math.min(MAX_AREA.rows, Math.max(MIN_IMAGE_ROWS, rows - RECORD_ROWS)),
  }
  return room.columns < MIN_IMAGE_COLUMNS || rows < MIN_IMAGE_ROWS ? null : room
}
