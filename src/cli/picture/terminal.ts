import type { Deps } from '../deps.ts'
import { hasBlockCharacters } from '../io.ts'
import type { Room } from './draw.ts'
import { type Way, wayToDraw } from './way.ts'

/** How stdout draws pictures: null off a terminal, with -q, in JSON, and where the terminal can't. */
export function wayOf({ io, env }: Pick<Deps, 'io' | 'env'>): Way | null {
  if (io.settings.machine || io.settings.quiet) return null
  return wayToDraw({ env, tty: io.stdoutTty, colours: io.outColours, hasBlocks: hasBlockCharacters(env) })
}

const MOST: Room = { columns: 40, rows: 20 }
/** The prompt, and a few lines of what the picture is of. */
const LEFT_FREE = 6
const LEAST = 4

/** The room for one picture; null on a terminal that is too small for any. */
export function roomOf({ columns, rows }: Room): Room | null {
  const room = { columns: Math.min(MOST.columns, columns - 2), rows: Math.min(MOST.rows, rows - LEFT_FREE) }
  return room.columns < LEAST || room.rows < LEAST ? null : room
}
