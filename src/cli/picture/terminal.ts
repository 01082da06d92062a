import type { Deps } from '../deps.ts'
import { hasBlockCharacters } from '../io/io.ts'
import type { Room } from './draw.ts'
import { type Way, wayToDraw } from './way.ts'

/** How stdout draws pictures: null off a terminal, with -q, in JSON, and where the terminal can't. */
export function wayOf({ io, env }: Pick<Deps, 'io' | 'env'>): Way | null {
  if (io.settings.machine || io.settings.quiet) return null
  return wayToDraw({ env, tty: io.stdoutTty, colors: io.outColors, hasBlocks: hasBlockCharacters(env) })
}

const MOST: Room = { columns: 40, rows: 20 }
const LEAST_COLUMNS = 4
/** Fewer show too little, even if the top of them scrolls away above the record. */
const FEW_ROWS = 12
/** The record below the picture, and the prompt. */
const RECORD_ROWS = 14

/** The room for one picture; null on a terminal that is too small for any. */
export function roomOf({ columns, rows }: Room): Room | null {
  const room = {
    columns: Math.min(MOST.columns, columns - 2),
    rows: Math.min(MOST.rows, Math.max(FEW_ROWS, rows - RECORD_ROWS)),
  }
  return room.columns < LEAST_COLUMNS || rows < FEW_ROWS ? null : room
}
