import { randomBytes } from 'node:crypto'
import { GdnError } from '../../core/errors.ts'
import { Secret } from '../../core/secret.ts'
import { readOrCreateSecret, type SecretLocation } from './secret-in-file.ts'

const URL_SECRET_FILE = 'url-secret'

/** Returns the secret that signs URLs. It is generated on first use. */
export async function openUrlSecret(dataDir: string, store: SecretLocation['store'] = null): Promise<Secret> {
  const stored = await readOrCreateSecret(
    { dataDir, file: URL_SECRET_FILE, store },
    () => `${randomBytes(32).toString('hex')}\n`,
  )
  const text = stored.text.trim()
  if (!/^[0-9a-f]{64}$/.test(text)) {
    throw new GdnError('data_dir', `${stored.place} is damaged`, {
      hint: 'Delete the secret. gdn then generates a new secret, and earlier signed URLs stop working.',
    })
  }
  return new Secret(text)
}
