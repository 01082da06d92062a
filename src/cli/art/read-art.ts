import { resolve } from 'node:path'
import { parseArt } from '../../art/art-file.ts'
import type { Art } from '../../art/types.ts'
import { readTextIfThere } from '../../config/read-text.ts'
import { GdnError } from '../../core/errors.ts'
import { shellWord } from '../../core/shell-word.ts'
import type { Deps } from '../deps.ts'

const ART_FILE_HINT =
  'Pass the path of an art.yaml file. Run `gdn art init <folder>` to print one for a folder of layers.'
const MAX_ART_FILE_BYTES = 16 * 1024 * 1024

/**
 * Reads an `art.yaml`.
 *
 * @throws GdnError `invalid_config` with the location of the problem
 */
export async function readArt({ cwd }: Pick<Deps, 'cwd'>, path: string): Promise<Art> {
  const text = await readTextIfThere(resolve(cwd, path), MAX_ART_FILE_BYTES, 'invalid_config').catch(
    (error: unknown) => {
      throw error instanceof GdnError ? error.with({ place: { file: path }, hint: ART_FILE_HINT }) : error
    },
  )
  if (text !== null && text.trim() !== '') return parseArt(text, path, cwd)
  throw new GdnError('invalid_config', text === null ? "doesn't exist" : 'the file is empty', {
    place: { file: path },
    hint: `Create the file from a folder of layers: gdn art init <folder> > ${shellWord(path)}`,
  })
}
