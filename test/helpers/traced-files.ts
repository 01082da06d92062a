import { basename, dirname } from 'node:path'

/** Bytes at an offset of a file. */
interface Write {
  at: number
  bytes: Buffer
}

/** A file with its possible states after a power cut: what was synced, and any subset of the writes since. */
interface TracedFile {
  synced: Buffer
  pending: (Write | { truncateTo: number })[]
}

type DirectoryChange = { name: string; file: TracedFile | null }

/** Selects which unsynced writes and names survive a power cut. */
export interface Cut {
  /** Whether a pending write reached the disk. */
  keepsWrite(): boolean
  /** Number of pending directory changes that reached the disk, in order. */
  keptNames(pending: number): number
}

/** Cuts that keep everything or nothing, and random ones. */
export function everyCut(random: () => number, randomCuts: number): Cut[] {
  return [
    { keepsWrite: () => true, keptNames: (pending) => pending },
    { keepsWrite: () => false, keptNames: () => 0 },
    ...Array.from({ length: randomCuts }, () => ({
      keepsWrite: () => random() < 0.5,
      keptNames: (pending: number) => Math.floor(random() * (pending + 1)),
    })),
  ]
}

const STRING = /"((?:\\x[0-9a-f]{2})*)"/

/**
 * Returns the system calls of a trace (`strace -f`) in the order in which they returned. With several threads, a call
 * may be split into two lines.
 */
export function tracedCalls(log: string): string[] {
  const unfinished = new Map<string, string>()
  return log.split('\n').flatMap((line) => {
    const begun = /^(\d+ +)(.*) <unfinished \.\.\.>$/.exec(line)
    if (begun !== null) {
      unfinished.set(begun[1] ?? '', begun[2] ?? '')
      return []
    }
    const resumed = /^(\d+ +)<\.\.\. \w+ resumed>(.*)$/.exec(line)
    return [resumed === null ? line : `${resumed[1]}${unfinished.get(resumed[1] ?? '')}${resumed[2]}`]
  })
}

/**
 * The files of a folder as changed by the system calls of a process (`strace -f -y -xx`). Until a file is synced, each
 * of its writes may or may not be on the disk. Until the folder is synced, the same is true for names.
 */
export class TracedFolder {
  /** The standard output of the process. */
  output = ''
  readonly #folder: string
  readonly #names = new Map<string, TracedFile>()
  readonly #syncedNames = new Map<string, TracedFile>()
  #pendingNames: DirectoryChange[] = []

  constructor(folder: string) {
    this.#folder = folder
  }

  /** Applies a line of the trace. Returns whether anything changed. */
  apply(line: string): boolean {
    const match = /^\d+ +(\w+)\((.*)\) += (-?\d+)/.exec(line)
    if (match === null || Number(match[3]) < 0) return false
    const [, call = '', parameters = ''] = match
    if (call === 'write' && /^1</.test(parameters)) {
      this.output += this.#bytes(parameters).toString('utf8')
      return true
    }
    if (call === 'openat' || call === 'open') return this.#opened(parameters)
    if (call === 'unlink' || call === 'unlinkat') return this.#unlinked(parameters)
    const descriptor = /^\d+<([^>]*)>/.exec(parameters)?.[1]
    if (descriptor === undefined) return false
    const path = decoded(descriptor)
    if (path === this.#folder) return this.#syncNames(call)
    const file = dirname(path) === this.#folder ? this.#names.get(basename(path)) : undefined
    if (file === undefined) return false
    return this.#changed(file, call, parameters)
  }

  /** Returns the files after a power cut at this moment. */
  after({ keepsWrite, keptNames }: Cut): Map<string, Buffer> {
    const names = new Map(this.#syncedNames)
    for (const { name, file } of this.#pendingNames.slice(0, keptNames(this.#pendingNames.length))) {
      if (file === null) names.delete(name)
      else names.set(name, file)
    }
    return new Map([...names].map(([name, file]) => [name, written(file, keepsWrite)]))
  }

  #opened(parameters: string): boolean {
    const path = this.#bytes(parameters).toString('utf8')
    const name = basename(path)
    if (dirname(path) !== this.#folder || !parameters.includes('O_CREAT') || this.#names.has(name)) return false
    const file: TracedFile = { synced: Buffer.alloc(0), pending: [] }
    this.#names.set(name, file)
    this.#pendingNames.push({ name, file })
    return true
  }

  #unlinked(parameters: string): boolean {
    const path = this.#bytes(parameters).toString('utf8')
    const name = basename(path)
    if (dirname(path) !== this.#folder || !this.#names.delete(name)) return false
    this.#pendingNames.push({ name, file: null })
    return true
  }

  #syncNames(call: string): boolean {
    if (call !== 'fsync' && call !== 'fdatasync') return false
    for (const { name, file } of this.#pendingNames) {
      if (file === null) this.#syncedNames.delete(name)
      else this.#syncedNames.set(name, file)
    }
    this.#pendingNames = []
    return true
  }

  #changed(file: TracedFile, call: string, parameters: string): boolean {
    if (call === 'fsync' || call === 'fdatasync') {
      file.synced = written(file, () => true)
      file.pending = []
    } else if (call === 'pwrite64') {
      file.pending.push({ at: Number(/, (\d+)$/.exec(parameters)?.[1]), bytes: this.#bytes(parameters) })
    } else if (call === 'ftruncate') {
      file.pending.push({ truncateTo: Number(/, (\d+)$/.exec(parameters)?.[1]) })
    } else return false
    return true
  }

  #bytes(parameters: string): Buffer {
    return Buffer.from((STRING.exec(parameters)?.[1] ?? '').replaceAll('\\x', ''), 'hex')
  }
}

/** `-xx` prints paths in hexadecimal too. */
const decoded = (text: string): string => Buffer.from(text.replaceAll('\\x', ''), 'hex').toString('utf8')

function written({ synced, pending }: TracedFile, keeps: () => boolean): Buffer {
  let bytes = Buffer.from(synced)
  for (const change of pending) {
    if (!keeps()) continue
    if ('truncateTo' in change) {
      const size = change.truncateTo
      bytes = size <= bytes.length ? bytes.subarray(0, size) : Buffer.concat([bytes, Buffer.alloc(size - bytes.length)])
      continue
    }
    const end = change.at + change.bytes.length
    if (end > bytes.length) bytes = Buffer.concat([bytes, Buffer.alloc(end - bytes.length)])
    change.bytes.copy(bytes, change.at)
  }
  return bytes
}
