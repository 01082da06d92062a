import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { OpenKeyring } from '../../src/config/keyring.ts'
import { type ConfigFlags, loadSettings } from '../../src/config/settings.ts'
import { GdnError } from '../../src/core/errors.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

export interface Home {
  dir: string
  project: string
  /** Writes a file. Objects are written as JSON. */
  write(path: string, content: unknown, mode?: number): Promise<string>
  /** Writes the user's configuration. */
  user(content: unknown): Promise<string>
  settings(flags?: ConfigFlags, env?: NodeJS.ProcessEnv, keyring?: OpenKeyring): ReturnType<typeof loadSettings>
}

export const noKeyring: OpenKeyring = async () => {
  throw new GdnError('native_missing', 'there is no keyring here')
}

/** Creates a home with a project folder, which is removed after the test. */
export async function makeHome(): Promise<Home> {
  const dir = await temporaryFolder('gdn config ✓ ')
  const project = join(dir, 'project')
  await mkdir(join(project, '.git'), { recursive: true })
  const write: Home['write'] = async (path, content, mode = 0o600) => {
    const file = join(dir, path)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content), { mode })
    return file
  }
  return {
    dir,
    project,
    write,
    user: (content) => write('.config/gdn/config.json', content),
    settings: (flags = {}, env = {}, openKeyring = noKeyring) =>
      loadSettings({ flags, env: { HOME: dir, ...env }, cwd: project, openKeyring }),
  }
}
