// Fewer files, and none of their code run before it is needed. With splitting, esbuild gives every module that a
// different set of lazy imports reaches a chunk of its own: a command then opens some seventy files, most of them of a
// kilobyte, and to find, open and compile one takes longer than to read it. So chunks that are needed together are
// packed into one file, each in a function that runs when the first chunk asks for it.
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { HELPERS, toCommonJs } from './common-js.mjs'
import { root } from './paths.mjs'

/** Larger chunks stay by themselves: not every command should read them. */
const LARGE_BYTES = 64 * 1024
const MAIN = 'src/cli/main.ts'
const MAIN_PACK = 'main'
/** Answered before a command is known, by as little code as can be. */
const HELP = 'src/cli/root-help.ts'
const COMPLETION = 'src/cli/completion/known-values.ts'
/** What most commands import when they run, beside what they import at once; and those that are waited for most. */
const COMMON = [
  'src/cli/process.ts',
  'src/cli/run.ts',
  'src/cli/connect.ts',
  'src/cli/table.ts',
  'src/client/light-transport.ts',
  'src/config/settings.ts',
  // What people look things up with, again and again: two files fewer to find, open and check.
  'src/cli/commands/nft/show.ts',
  'src/cli/commands/collection/show.ts',
]
const COMMANDS = /^src\/cli\/commands\/(?:([a-z]+)\/)?/
/** Of these packs, a command that reads the file needs most. */
const WANTED = [MAIN_PACK, 'help', 'completion']
const ENDPOINTS = 'src/api/endpoints/'

/**
 * Which chunk goes into which file.
 *
 * @param outputs of esbuild's metafile
 * @returns the name of a file for each chunk
 */
export function planPacks(outputs) {
  const paths = Object.keys(outputs).filter((path) => path.endsWith('.js'))
  const entries = new Map(paths.flatMap((path) => (outputs[path].entryPoint ? [[outputs[path].entryPoint, path]] : [])))
  const reachedBy = (names) => new Set(names.flatMap((name) => [...closure(outputs, entries.get(name))]))
  const main = reachedBy([MAIN])
  const help = reachedBy([HELP])
  const completion = reachedBy([COMPLETION])
  const common = reachedBy(COMMON)
  const endpoints = reachedBy([...entries.keys()].filter((name) => name.startsWith(ENDPOINTS)))
  const commands = [...entries].filter(([name]) => COMMANDS.test(name))
  const users = new Map(paths.map((path) => [path, []]))
  for (const [name, entry] of commands) for (const path of closure(outputs, entry)) users.get(path).push(name)

  const groupOf = (path) => {
    const { bytes, entryPoint } = outputs[path]
    if (main.has(path)) return MAIN_PACK
    if (help.has(path)) return 'help'
    if (completion.has(path)) return 'completion'
    if (bytes >= LARGE_BYTES) return null
    const isCommon = common.has(path) || endpoints.has(path) || users.get(path).length > commands.length / 5
    if (isCommon) return 'common'
    if (users.get(path).length === 0) return null
    const nouns = new Set(users.get(path).map((name) => COMMANDS.exec(name)[1]))
    const [noun] = nouns
    if (nouns.size === 1 && noun !== undefined) return noun
    return entryPoint === undefined ? 'shared' : null
  }
  return new Map(paths.map((path) => [path, groupOf(path) ?? basename(path, '.js')]))
}

/** A chunk and all that is loaded with it. */
function closure(outputs, path, reached = new Set()) {
  if (reached.has(path)) return reached
  reached.add(path)
  for (const { kind, external, path: imported } of outputs[path].imports) {
    if (kind === 'import-statement' && !external) closure(outputs, imported, reached)
  }
  return reached
}

/**
 * The files of the bundle.
 *
 * @param chunks what esbuild made: path as in the plan, and text
 * @returns name and text of each file; `main.cjs` is the one to start with
 */
export async function pack(chunks, plan) {
  const packOf = new Map(chunks.map(({ path }) => [basename(path), plan.get(path)]))
  const packs = new Map([...plan.values()].map((name) => [name, chunks.filter(({ path }) => plan.get(path) === name)]))
  // Until all are known, a file is named as its pack: its name is to carry the hash of what it holds.
  const load = (chunk) => `__load("<${packOf.get(chunk)}>",${JSON.stringify(idOf(chunk))})`
  const texts = new Map()
  for (const [name, members] of packs) {
    const isWanted = members.length === 1 || WANTED.includes(name)
    texts.set(name, HELPERS + (await Promise.all(members.map((chunk) => definition(chunk, load, isWanted)))).join(''))
  }
  // A file also holds the names of others, which change with theirs: compiled code that was kept under the name of a file
  // whose own text is the same would ask for files of another version.
  const all = [...texts.values()].join('\0')
  const fileNames = new Map([...texts.keys()].map((name) => [name, fileName(name, texts.get(name) + all)]))
  const loader = await readFile(join(root, 'src/build/loader.cjs'), 'utf8')
  return [...texts].map(([name, text]) => ({
    name: fileNames.get(name),
    text:
      name === MAIN_PACK
        ? `${loader}${linked(`${text}exports.main=argv=>${load('main.js')}.main(argv);\n`, fileNames)}`
        : `"use strict";module.exports=(function(__load,__chunks,__defer){${linked(text, fileNames)}});\n`,
  }))
}

/** With the names of files in place of those of packs, each spelt once. */
function linked(text, fileNames) {
  const names = []
  const calls = text.replace(/(?<=__load\()"<([^>"]+)>"(?=,")/g, (_, name) => {
    if (!names.includes(name)) names.push(name)
    return `__file${names.indexOf(name)}`
  })
  return names.map((name, n) => `const __file${n}=${JSON.stringify(fileNames.get(name))};`).join('') + calls
}

async function definition({ path, text }, load, isWanted) {
  // In brackets, a function is compiled at once; else it is skimmed first, and read again when it is called.
  const [open, close] = isWanted ? ['(', ')'] : ['', '']
  return `__chunks[${JSON.stringify(idOf(path))}]=${open}function(exports){${await toCommonJs(text, load)}\n}${close};\n`
}

const idOf = (path) => basename(path, '.js').replace(/^chunk-/, '')

function fileName(name, hashed) {
  if (name === MAIN_PACK) return 'main.cjs'
  const hash = createHash('sha256').update(hashed).digest('hex').slice(0, 10)
  return `chunks/${name.replace(/-[A-Z0-9]{8}$/, '')}-${hash}.cjs`
}
