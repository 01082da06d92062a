import { resolve } from 'node:path'
import { parseArt } from '../../art/art-file.ts'
import type { Art } from '../../art/types.ts'
import { readText } from '../../config/read-text.ts'
import type { Deps } from '../deps.ts'

const MAX_BYTES = 16 * 1024 * 1024

/** Reads an `art.yaml`. @throws GdnError `invalid_config` with the location of the problem */
export async function readArt({ cwd }: Pick<Deps, 'cwd'>, path: string): Promise<Art> {
  return parseArt(await readText(resolve(cwd, path), MAX_BYTES, 'invalid_config'), path, cwd)
}
