import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { GdnError } from '../../core/errors.ts'
import { readPrivateText, writePrivateFile } from '../../core/private-file.ts'
import { Secret } from '../../core/secret.ts'

const FILE = 'url-secret'

/** The data dir's secret that signed URLs are signed with, made at random on first use and kept in a 0600 file. */
export async function openUrlSecret(dataDir: string): Promise<Secret> {
  const path = join(dataDir, FILE)
  let text = readPrivateText(path, { code: 'data_dir' })?.trim()
  if (text === undefined) {
    text = randomBytes(32).toString('hex')
    await writePrivateFile(path, `${text}\n`)
  }
  if (!/^[0-9a-f]{64}$/.test(text)) {
    throw new GdnError('data_dir', `${path} is damaged`, {
      hint: 'delete it: a new one is made, and signed URLs that were given out before stop working',
    })
  }
  return new Secret(text)
}
