import { realpath } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path'
import { GdnError, systemCode } from '../../core/errors.ts'
import { sha256OfFile } from '../../core/sha256-of-file.ts'
import { identifyRowFiles, type LocalFilesIn } from './row-files.ts'
import type { Tool, Values } from './tools.ts'

/** Matches arguments that commands treat as URLs rather than as paths. */
const URL_PATTERN = /^(?:[a-z][a-z0-9+.-]*:\/\/|(?:data|javascript):|$)/i

/**
 * The flag that specifies an output file. Only .html files are permitted, because other files could be configuration
 * files of gdn or of the project.
 */
const OUTPUT_FLAG = '--to'
/** The tool whose `--to` names an input file, the list of receivers. */
const TOOL_WITH_INPUT_TO = 'batch mint'

/**
 * Returns the real paths of the files in a tool's arguments.
 *
 * @param root the real path of the folder that must contain all files
 * @throws GdnError `usage` for standard input, for a file that is hidden or outside of `root`, and for an output file
 * that isn't .html
 */
export async function resolveInputFiles({ command, inputs }: Tool, values: Values, root: string): Promise<string[]> {
  const files: string[] = []
  for (const { property, flag, file } of inputs) {
    const value = values[property]
    if (file === null || value === undefined) continue
    for (const each of [value].flat().map(String)) {
      const path = file === 'pair' ? each.slice(each.indexOf('=') + 1) : each
      if (file === 'path' || !URL_PATTERN.test(path)) files.push(await fileBelow(root, path, property))
      if (flag === OUTPUT_FLAG && command !== TOOL_WITH_INPUT_TO && !/\.html$/i.test(path)) {
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
  const fileError = (why: string, hint: string) => new GdnError('usage', why, { place: { field: property }, hint })
  if (path === '-') throw fileError('standard input is used for MCP messages', 'Use a file.')
  if (path.includes('\0')) throw fileError('has a NUL character', 'Use another path.')
  // The system follows links before it resolves `..` after them. The path could therefore lead to a different file than
  // its normalized form.
  const [, pathInside = ''] = /^(?:\.\.?[\\/]+)*(.*)$/s.exec(path) ?? []
  if (pathInside.split(/[\\/]/).includes('..')) {
    throw fileError(`${path} may be outside of ${root}`, 'Use a path without `..`.')
  }
  const real = await resolveRealPath(resolve(root, path))
  const relativePath = relative(root, real)
  if (isAbsolute(relativePath) || /^\.\.(?:[\\/]|$)/.test(relativePath)) {
    throw fileError(
      `${path} is outside of ${root}`,
      'Use a file in that directory. Only the operator can choose another directory.',
    )
  }
  if (relativePath.split(/[\\/]/).some((part) => part.startsWith('.'))) {
    throw fileError(`${path} is a hidden file, or in a hidden folder`, 'Copy the file to a path that is not hidden.')
  }
  return real
}

/** Returns the real path of a file that may not exist yet. */
async function resolveRealPath(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch (error) {
    if (systemCode(error) !== 'ENOENT' || dirname(path) === path) throw error
    return join(await resolveRealPath(dirname(path)), basename(path))
  }
}

/** Returns digests of a tool's existing files, and of the local files to which manifest rows refer. */
export async function computeFileDigests(
  tool: Tool,
  values: Values,
  { root, localFilesIn }: { root: string; localFilesIn: LocalFilesIn },
): Promise<Record<string, string>> {
  const digests: Record<string, string> = {}
  for (const path of await resolveInputFiles(tool, values, root)) {
    try {
      digests[path] = await sha256OfFile(path)
    } catch (error) {
      // The file doesn't exist yet, because the command creates it.
      if (systemCode(error) !== 'ENOENT') throw error
    }
  }
  return { ...digests, ...(await identifyRowFiles(tool, values, root, localFilesIn)) }
}
