import { expect, test } from 'vitest'
import {
  localDataDirectory,
  paceDirectories,
  stateDirectory,
  userConfigFile,
  walletsDirectory,
} from '../../src/config/paths.ts'

const paths = (env: NodeJS.ProcessEnv) => ({
  config: userConfigFile(env),
  state: stateDirectory(env),
  local: localDataDirectory(env),
  wallets: walletsDirectory(env),
  pace: paceDirectories(env).at(-1),
})

test('files are stored in the directories of the XDG variables', () => {
  const env = { HOME: '/home', XDG_CONFIG_HOME: '/config', XDG_STATE_HOME: '/state', XDG_DATA_HOME: '/data' }
  expect(paths(env)).toEqual({
    config: '/config/gdn/config.json',
    state: '/state/gdn',
    local: '/data/gdn/local',
    wallets: '/data/gdn/wallets',
    pace: '/state/gdn/pace',
  })
})

test('relative paths in the XDG variables are ignored', () => {
  const relative = { HOME: '/home', XDG_CONFIG_HOME: 'config', XDG_STATE_HOME: 'state', XDG_DATA_HOME: 'data' }
  expect(paths(relative)).toEqual({
    config: '/home/.config/gdn/config.json',
    state: '/home/.local/state/gdn',
    local: '/home/.local/share/gdn/local',
    wallets: '/home/.local/share/gdn/wallets',
    pace: '/home/.local/state/gdn/pace',
  })
})

test.each(['', 'home'])('a HOME of %j is ignored', (HOME) => {
  // A user of a container may have no account, and no other home directory then.
  const orNone = (env: NodeJS.ProcessEnv) => {
    try {
      return paths(env)
    } catch {
      return null
    }
  }
  expect(orNone({ HOME })).toEqual(orNone({}))
})
