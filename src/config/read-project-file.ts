import { basename } from 'node:path'
import { cosmiconfig, defaultLoaders } from 'cosmiconfig'
import { GdnError, messageOf } from '../core/errors.ts'
import { parseStrictJson } from '../core/strict-json.ts'
import { readText } from './read-text.ts'
import { type ProjectFile, parseProjectConfig } from './schema.ts'

const MAX_CONFIG_BYTES = 1024 * 1024

const parseJsonConfig = (path: string, text: string) => parseStrictJson(text, path, 'invalid_config')

function parseYamlConfig(path: string, text: string): unknown {
  if (text.startsWith('\ufeff')) {
    throw new GdnError('invalid_config', 'begins with a byte order mark: save the file as UTF-8 without one', {
      place: { file: path, line: 1, column: 1 },
    })
  }
  try {
    return defaultLoaders['.yaml'](path, text)
  } catch (error) {
    const [, line, column] = /\((\d+):(\d+)\)/.exec(messageOf(error))?.map(Number) ?? []
    const [reason = ''] = messageOf(error)
      .replace(/^YAML Error in .*\n/, '')
      .split('\n')
    throw new GdnError('invalid_config', `is not valid YAML: ${reason.replace(/ \(\d+:\d+\)$/, '')}`, {
      place: { file: path, line, column },
      cause: error,
    })
  }
}

const parseAnyConfig = (path: string, text: string) =>
  text.trimStart().startsWith('{') ? parseJsonConfig(path, text) : parseYamlConfig(path, text)

/**
 * Reads one project file. cosmiconfig doesn't search for the file, but only selects a loader by the file name. No
 * loader runs code.
 */
export async function readProjectFile(path: string): Promise<ProjectFile> {
  await readText(path, MAX_CONFIG_BYTES, 'invalid_config')
  const reader = cosmiconfig('gdn', {
    searchPlaces: [basename(path)],
    loaders: { '.json': parseJsonConfig, '.yaml': parseYamlConfig, noExt: parseAnyConfig },
    packageProp: 'gdn',
    cache: false,
  })
  const loaded = await reader.load(path).catch((error: unknown) => {
    if (error instanceof GdnError) throw error
    throw new GdnError('invalid_config', messageOf(error), { place: { file: path }, cause: error })
  })
  return { path, config: parseProjectConfig(loaded?.config ?? {}, path) }
}
