import { resolve } from 'node:path'
import { type EvmBlockchain, isEvm, KNOWN_EVM_NAMES } from '../../api/blockchains.ts'
import { flagError, GdnError } from '../../core/errors.ts'
import type { Parse } from '../command.ts'
import type { Deps } from '../deps.ts'
import { blockchainName, httpAddress } from './parse.ts'

const MAX_BYTES = 64 * 1024
const FLAG = '--fork'

/** The value of `--fork`: a blockchain, and where to find the URL of its network. */
export interface ForkFlag {
  blockchain: EvmBlockchain
  /** The URL, or `@` followed by the path of a file that contains it. If undefined, the URL is in GDN_FORK_URL. */
  at: string | undefined
}

/** Parses `base=https://…`, `base=@file` or `base`. */
export const fork: Parse<ForkFlag> = (raw, flag) => {
  const [name = '', ...rest] = raw.split('=')
  const blockchain = blockchainName(name, flag)
  if (!isEvm(blockchain)) {
    throw flagError(flag, `${blockchain} can't be forked`, `Use one of ${KNOWN_EVM_NAMES.join(', ')}.`)
  }
  if (rest.length === 0) return { blockchain, at: undefined }
  const at = rest.join('=')
  return { blockchain, at: at.startsWith('@') ? at : httpAddress(at, flag) }
}

/** Returns the URL of the network. It may contain API keys, which are never printed. */
export async function forkUrl({ env, cwd }: Pick<Deps, 'env' | 'cwd'>, { blockchain, at }: ForkFlag): Promise<string> {
  if (at === undefined) {
    const named = env.GDN_FORK_URL
    if (named !== undefined && named !== '') return httpAddress(named, 'GDN_FORK_URL')
    throw new GdnError('usage', `needs the URL of a node of ${blockchain}`, {
      place: { flag: FLAG },
      hint: `Set GDN_FORK_URL, or use ${FLAG} ${blockchain}=@<file> or ${FLAG} ${blockchain}=<url>.`,
    })
  }
  if (!at.startsWith('@')) return at
  const { readSecretFile } = await import('../../keystore/private-file.ts')
  const file = resolve(cwd, at.slice(1))
  return httpAddress(readSecretFile(file, MAX_BYTES).trim(), file)
}
