import type { OutputFlags } from '../../flags/common.ts'
import type { ChainFlags } from './chain-place.ts'

export interface SetupFlags extends OutputFlags, ChainFlags {
  adminKeystore?: string
  passwordFile?: string
  factory?: string
  dryRun?: boolean
  yes?: boolean
  timeout?: number
}

export type StatusFlags = OutputFlags & ChainFlags
