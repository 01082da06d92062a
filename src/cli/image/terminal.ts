import type { Deps } from '../deps.ts'
import { hasBlockCharacters } from '../io/io.ts'
import type { Room } from './draw.ts'
import { type Way, wayToDraw } from './way.ts'

/** Returns how stdout draws images, or null off a terminal, with -q, in JSON mode, or if the terminal can't. */
export function graphicsOf({ io, env }: Pick<Deps, 'io' | 'env'>): Way | null {
  if (io.settings.machine || io.settings.quiet) return null
  return wayToDraw({ env, tty: io.stdoutTty, colors: io.outColors, hasBlocks: hasBlockCharacters(env) })
}

const MOST: Room = { columns: 40, rows: 20 }
const LEAST_COLUMNS = 4
/** Minimum height, even if the top scrolls away above the record. */
const FEW_ROWS = 12
/** Rows of the record below the image, and of the prompt. */
const RECORD_ROWS = 14

/** Returns the space for one image, or null on a terminal that is too small. */
export function imageSpace({ columns, rows }: Room): Room | null {
  const room = {
    columns: Math.min(MOST.columns, columns - 2),
    rows: Math.min(MOST.rows, Math.max(FEW_ROWS, rows - RECORD_ROWS)),
  }
  return room.columns < LEAST_COLUMNS || rows < FEW_ROWS ? null : room
}
