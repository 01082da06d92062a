import { cpSync, existsSync, rmSync } from 'node:fs'
import { MAX_HINTS, mint, mintList, mintWithFlags, remove, resume } from './manifest-commands.ts'
import { idOf, type Piece, type World } from './manifest-world.ts'
import { RECEIVERS } from './simulation-rows.ts'

const NAMES = ['drop.csv', 'x/drop.csv', 'feb.csv', 'y/feb.csv', 'm.csv', 'y/drop.csv']

/** Changes a manifest, or runs commands. Returns what a command broke, or null. */
type Move = (world: World, name: string, pieces: Piece[]) => Promise<string | null> | null

const keyOf = ({ n, copy }: Piece) => `${n}/${copy}`

/** Returns a name that no manifest has, or null. */
function freeName(world: World): string | null {
  const name = world.any(NAMES)
  return world.manifests.has(name) ? null : name
}

/** Creates a manifest, and returns its name. Returns null if the name is taken. */
function create(world: World): string | null {
  const name = freeName(world)
  if (name === null) return null
  const hasIds = world.chance(0.4)
  const count = 1 + world.pick(5)
  world.manifests.set(
    name,
    Array.from({ length: count }, () => world.fresh(hasIds && world.chance(0.9))),
  )
  world.write(name)
  return name
}

/** Adds rows that the manifest doesn't have. A row that once had an ID sometimes gets it back. */
function addRows(world: World, name: string, more: readonly Piece[], from = name): null {
  const pieces = world.manifests.get(name) ?? []
  const known = new Set(pieces.map(keyOf))
  for (const piece of more) {
    if (known.has(keyOf(piece))) continue
    known.add(keyOf(piece))
    pieces.push({ ...piece, hasId: piece.hasId || (world.wasIdentified(piece) && world.chance(0.5)) })
  }
  world.write(name, from)
  return null
}

function removeRows(world: World, name: string, count: number): Piece[] {
  const pieces = world.manifests.get(name) ?? []
  const removed = pieces.splice(world.pick(pieces.length), count)
  world.removed.set(name, [...(world.removed.get(name) ?? []), ...removed])
  world.write(name)
  return removed
}

const removeRow: Move = (world, name) => {
  removeRows(world, name, 1)
  return null
}

function addIds(world: World, name: string): null {
  for (const piece of world.manifests.get(name) ?? []) piece.hasId = true
  world.write(name)
  return null
}

function drop(world: World, name: string): void {
  world.manifests.delete(name)
  rmSync(world.path(name), { force: true })
  world.log.push(`# delete ${name}`)
}

const edit: Move = (world, name, pieces) => {
  const piece = world.any(pieces)
  piece.before ??= { version: piece.version, receiver: piece.receiver }
  if (world.chance(0.3)) piece.receiver = world.pick(RECEIVERS.length)
  else piece.version = world.versionFor(piece, world.chance(0.6))
  world.write(name)
  return null
}

/**
 * Inserts a row into a minted manifest, and gives each following row the ID of the next one, as a spreadsheet with a
 * fixed ID column does. Mints the manifest, and restores the IDs if that was refused.
 */
const shiftIds: Move = async (world, name, pieces) => {
  if (pieces.length === 0 || !pieces.every(({ hasId, id }) => hasId && id === undefined)) return null
  const minted = await mint(world, name, {}, 1)
  if (minted !== null || !isFinished(world, `mint ${name} {} `)) return minted
  const at = world.pick(pieces.length)
  const added = world.fresh(true)
  const ids = [...pieces.slice(at).map(idOf), idOf(added)]
  pieces.splice(at, 0, added)
  for (const [index, id] of ids.entries()) Object.assign(pieces[at + index] as Piece, { id })
  world.write(name)
  const shifted = await mint(world, name, {}, MAX_HINTS)
  // Without NFTs of the moved contents, for example because all rows were edited, the IDs are valid.
  if (isFinished(world)) drop(world, name)
  else {
    for (const piece of pieces) delete piece.id
    world.write(name)
  }
  return shifted
}

/** Returns whether the last command ended with exit code 0. @param command the beginning of the command */
const isFinished = ({ log }: World, command = 'mint '): boolean => {
  const last = log.at(-1) ?? ''
  return last.startsWith(`$ ${command}`) && last.includes('-> exit 0')
}

const duplicate: Move = (world, name, pieces) => {
  const piece = world.any(pieces)
  pieces.push({ ...piece, copy: world.nextCopy(piece), hasId: piece.hasId })
  world.write(name)
  return null
}

const sort: Move = (world, name, pieces) => {
  const keys = new Map(pieces.map((piece) => [piece, world.random()]))
  pieces.sort((a, b) => (keys.get(a) ?? 0) - (keys.get(b) ?? 0))
  world.write(name)
  return null
}

const copy: Move = (world, name, pieces) => {
  const target = freeName(world)
  if (target === null) return null
  world.manifests.set(target, structuredClone(pieces))
  world.log.push(`# copy ${name} ${target}`)
  world.write(target, name)
  return null
}

const rename: Move = (world, name, pieces) => {
  const target = freeName(world)
  if (target === null) return null
  world.manifests.set(target, pieces)
  world.removed.set(target, world.removed.get(name) ?? [])
  world.log.push(`# rename ${name} ${target}`)
  world.write(target, name)
  drop(world, name)
  return null
}

const split: Move = (world, name, pieces) => {
  const target = freeName(world)
  if (target === null || pieces.length < 2) return null
  world.manifests.set(target, pieces.splice(1 + world.pick(pieces.length - 1)))
  world.write(name)
  world.write(target, name)
  return null
}

const merge: Move = (world, name) => {
  const other = world.any([...world.manifests.keys()])
  if (other === name) return null
  addRows(world, name, world.manifests.get(other) ?? [], other)
  if (world.chance(0.5)) drop(world, other)
  return null
}

const replaceImage: Move = (world, name, pieces) => {
  const images = pieces.filter(({ hasImage }) => hasImage)
  if (images.length === 0) return null
  world.replaceImage(name, world.any(images), '+'.repeat(world.pick(3)))
  return null
}

/** Removes rows, mints with --new-rows, and returns the rows, possibly with IDs. */
const returnRows: Move = async (world, name, pieces) => {
  const minted = await mint(world, name)
  if (minted !== null || pieces.length === 0) return minted
  const removed = removeRows(world, name, 1 + world.pick(3))
  addRows(world, name, [world.fresh(false)])
  const broken = await mint(world, name, { newRows: true })
  if (broken !== null) return broken
  addRows(world, name, removed)
  if (world.chance(0.3)) return await mint(world, name)
  addIds(world, name)
  return await mint(world, name)
}

/** Loses the state, and merges rows that were minted before into a run that begins afterwards. */
const mergeAfterLoss: Move = async (world, name) => {
  const minted = await mint(world, name)
  if (minted !== null) return minted
  await lose(world)
  const other = create(world)
  if (other === null) return null
  const broken = await mint(world, other)
  if (broken !== null) return broken
  addRows(world, other, world.manifests.get(name) ?? [], name)
  if (world.chance(0.3)) drop(world, name)
  return await mint(world, other)
}

async function lose(world: World): Promise<null> {
  await world.machine.lose()
  world.hasForgotten = true
  world.log.push('# the state is lost')
  world.count('lost state')
  return null
}

function backUp({ backup, machine, log }: World): null {
  rmSync(backup, { recursive: true, force: true })
  cpSync(machine.stateDir, backup, { recursive: true })
  log.push('# backup')
  return null
}

function restore(world: World): null {
  const { backup, machine, log } = world
  if (!existsSync(backup)) return null
  rmSync(machine.stateDir, { recursive: true, force: true })
  cpSync(backup, machine.stateDir, { recursive: true })
  world.hasForgotten = true
  log.push('# restore')
  world.count('restored state')
  return null
}

/** Creates a list, changes its receivers, or mints it. */
const useList: Move = async (world, _name, pieces) => {
  const names = [...world.lists.keys()]
  const receivers = () => [0, 1, 2].filter(() => world.chance(0.6))
  if (names.length === 0 || world.chance(0.2)) {
    const { n, version, hasImage } = world.any(pieces)
    world.lists.set(`list${names.length}`, { n, version, hasImage, receivers: receivers() })
  }
  const name = world.any([...world.lists.keys()])
  const list = world.lists.get(name)
  if (list !== undefined && world.chance(0.4)) list.receivers = receivers()
  return (list?.receivers.length ?? 0) === 0 ? null : await mintList(world, name)
}

/** Each move with its weight. */
const MOVES: [number, Move][] = [
  [8, edit],
  [4, (world, name, pieces) => addRows(world, name, [world.fresh(pieces[0]?.hasId ?? false)])],
  [1, duplicate],
  [3, shiftIds],
  [4, removeRow],
  [4, (world, name) => addRows(world, name, world.removed.get(name) ?? [])],
  [3, sort],
  [4, (world, name) => addIds(world, name)],
  [4, copy],
  [4, rename],
  [4, split],
  [5, merge],
  [4, replaceImage],
  [3, returnRows],
  [2, mergeAfterLoss],
  [34, (world, name) => mintWithFlags(world, name)],
  [6, useList],
  [8, resume],
  [3, remove],
  [3, backUp],
  [3, restore],
  [1, lose],
]
const TOTAL = MOVES.reduce((sum, [weight]) => sum + weight, 0)

function anyMove(world: World): Move {
  let left = world.pick(TOTAL)
  for (const [weight, move] of MOVES) {
    left -= weight
    if (left < 0) return move
  }
  throw new Error('no move')
}

/** Makes one random move. Returns what it broke, or null. */
export async function step(world: World): Promise<string | null> {
  const names = [...world.manifests.keys()]
  if (names.length === 0 || world.chance(0.06)) return create(world) === null ? null : world.mintedTwice()
  const name = world.any(names)
  const pieces = world.manifests.get(name) ?? []
  if (pieces.length === 0) {
    drop(world, name)
    return null
  }
  return (await anyMove(world)(world, name, pieces)) ?? world.mintedTwice()
}
