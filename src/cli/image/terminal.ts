import type { Deps } from '../deps.ts'
import { hasBlockCharacters } from '../io/io.ts'
import type { Room } from './draw.ts'
import { type Way, wayToDraw } from './way.ts'

/**
 * Returns how to draw images on stdout. Returns null with -q, in JSON mode, and if stdout isn't a terminal that can
 * draw images.
 */
export function graphicsOf({ io, env }: Pick<Deps, 'io' | 'env'>): Way | null {
  if (io.settings.machine || io.settings.quiet) return null
  return wayToDraw({ env, tty: io.stdoutTty, colors: io.outColors, hasBlocks: hasBlockCharacters(env) })
}

const MOST: Room = { columns: 40, rows: 20 }
const LEAST_COLUMNS = 4
/** Minimum height of an image in rows. If a terminal has less room, no image is drawn. */
const FEW_ROWS = 12
/** Terminal rows for the NFT's details below the image and for the shell prompt. */
const RECORD_ROWS = 14

/** Returns the area for one image; null if the terminal is too small. */
export function imageSpace({ columns, rows }: Room): Room | null {
  const room = {
    columns: Math.min(MOST.columns, columns - 2),
    rows: Math.min(MOST.rows, Math.max(FEW_ROWS, rows - RECORD_ROWS)),
  }
  return room.columns < LEAST_COLUMNS || rows < FEW_ROWS ? null : room
}
