import { resolve } from 'node:path'
import { localDataDirectory } from '../../../config/paths.ts'
import { type GdnCommand, valueFlag } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { notEmpty } from '../../flags/parse.ts'

export interface DataDirFlags {
  dataDir?: string
}

export function addDataDirFlag(command: GdnCommand): GdnCommand {
  return valueFlag(command, '--data-dir <dir>', "The backend's data dir (that of gdn local start)", { parse: notEmpty })
}

/** The data dir that a key command works on: by default the one of `gdn serve` and `gdn local start`. */
export function dataDirOf({ env, cwd }: Pick<Deps, 'env' | 'cwd'>, flags: DataDirFlags): string {
  return flags.dataDir === undefined ? localDataDirectory(env) : resolve(cwd, flags.dataDir)
}
