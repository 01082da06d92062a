import { type Blockchain, isEvm } from '../../../api/blockchains.ts'
import { safe } from '../../io/io.ts'

/** Result of `gdn init`. */
export interface Setup {
  profile: string
  /** Null for the local backend, whose address may change. */
  baseUrl: string | null
  /** Where the key is, or null if none was saved. */
  keptIn: 'keyring' | 'file' | 'environment' | 'local backend' | null
  blockchain: Blockchain | undefined
  wallet: string | undefined
  isChecked: boolean
  /** Whether the server is running now. */
  isRunning: boolean
}

/** Returns lines that explain what to do next. */
export function nextSteps({ profile, baseUrl, keptIn, blockchain, wallet, isChecked, isRunning }: Setup): string[] {
  const server = baseUrl ?? 'the local backend'
  // gdn generates EVM wallets only.
  const generates = blockchain === undefined || isEvm(blockchain)
  const flags = [
    ...(blockchain === undefined ? ['-b polygon'] : []),
    ...(wallet === undefined ? [generates ? '--wallet @alice' : '--wallet <address>'] : []),
  ]
  return [
    `The profile ${safe(profile)} is in use: ${safe(server)}.${isChecked ? ' Server and key work.' : ''}`,
    ...(keptIn === 'environment' ? ['The key stays in GDN_API_KEY and was not saved.'] : []),
    ...(isRunning ? [] : ['Start the backend: gdn local start']),
    ...(wallet === undefined && generates ? ['Generate a wallet: gdn wallet generate --name alice'] : []),
    `Next: ${['gdn collection create --name "First light"', ...flags].join(' ')}`,
  ]
}
