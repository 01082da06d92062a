import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path'
import { GdnError, systemCode } from '../../core/errors.ts'
import { type LocalFilesIn, rowFilesOf } from './row-files.ts'
import type { Tool, Values } from './tools.ts'

/** Matches the arguments that commands accept as URLs of files. */
const IS_URL = /^(?:[a-z][a-z0-9+.-]*:\/\/|(?:data|javascript):|$)/i

/**
 * The flag of tools that write a page. A file with another name could be the configuration of gdn or of the project.
 */
const WRITTEN = '--to'

/**
 * Returns the files that the values of a tool name.
 *
 * @param root a real path: every file must be below it
 * @throws GdnError `usage` for a file elsewhere, a hidden one, standard input, and a written one that is no page
 */
export async function filesOf({ inputs }: Tool, values: Values, root: string): Promise<string[]> {
  const files: string[] = []
  for (const { property, flag, file } of inputs) {
    const value = values[property]
    if (file === null || value === undefined) continue
    for (const each of [value].flat().map(String)) {
      const path = file === 'pair' ? each.slice(each.indexOf('=') + 1) : each
      if (file === 'path' || !IS_URL.test(path)) files.push(await fileBelow(root, path, property))
      if (flag === WRITTEN && !/\.html$/i.test(path)) {
        throw new GdnError('usage', `${path} doesn't end in .html`, {
          place: { field: property },
          hint: 'Use a file whose name ends in .html.',
        })
      }
    }
  }
  return files
}

async function fileBelow(root: string, path: string, property: string): Promise<string> {
  const fail = (why: string, hint: string) => new GdnError('usage', why, { place: { field: property }, hint })
  if (path === '-') throw fail('standard input is used for MCP messages', 'Use a file.')
  if (path.includes('\0')) throw fail('has a NUL character', 'Use another path.')
  // After a link to a folder, .. leads elsewhere for the system than in a normalized path.
  const [, named = ''] = /^(?:\.\.?[\\/]+)*(.*)$/s.exec(path) ?? []
  if (named.split(/[\\/]/).includes('..')) {
    throw fail(`${path} may be outside of ${root}`, 'Use the path without ..')
  }
  const real = await realOf(resolve(root, path))
  const way = relative(root, real)
  if (isAbsolute(way) || /^\.\.(?:[\\/]|$)/.test(way)) {
    throw fail(
      `${path} is outside of ${root}`,
      'Use a file in that directory. Only the operator can choose another directory.',
    )
  }
  if (way.split(/[\\/]/).some((part) => part.startsWith('.'))) {
    throw fail(`${path} is a hidden file, or in a hidden folder`, 'Copy it to a file that is not hidden.')
  }
  return real
}

/** Returns the real path of a file that may not exist yet. */
async function realOf(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch (error) {
    if (systemCode(error) !== 'ENOENT' || dirname(path) === path) throw error
    return join(await realOf(dirname(path)), basename(path))
  }
}

/** Returns digests of the existing files of a tool, and of the local files in its rows. */
export async function digestsOf(
  tool: Tool,
  values: Values,
  { root, localFilesIn }: { root: string; localFilesIn: LocalFilesIn },
): Promise<Record<string, string>> {
  const digests: Record<string, string> = {}
  for (const path of await filesOf(tool, values, root)) {
    const hash = createHash('sha256')
    try {
      for await (const chunk of createReadStream(path)) hash.update(chunk as Uint8Array)
      digests[path] = hash.digest('hex')
    } catch (error) {
      // A file that the command will write.
      if (systemCode(error) !== 'ENOENT') throw error
    }
  }
  return { ...digests, ...(await rowFilesOf(tool, values, root, localFilesIn)) }
}
