import { CONTRACT, OWNER, type Reply } from '../fake-api.ts'

export const URI = 'ipfs://bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi'
const word = (hex: string) => hex.padStart(64, '0')

function abiString(text: string): string {
  const bytes = Buffer.from(text).toString('hex')
  return `0x${word('20')}${word((bytes.length / 2).toString(16))}${bytes.padEnd(Math.ceil(bytes.length / 64) * 64, '0')}`
}

export interface Token {
  owner: string
  uri: string
  metadata: unknown
}

/** A chain and its storage as gdn's backend serves them, computed without code of gdn. */
export function chain(tokens: Readonly<Record<string, Token>>, chainId = 137) {
  const answer = ({ id, method, params }: { id: number; method: string; params: [{ to: string; data: string }] }) => {
    if (method === 'eth_chainId') return { jsonrpc: '2.0', id, result: `0x${chainId.toString(16)}` }
    const [{ to, data }] = params
    const token = tokens[String(BigInt(`0x${data.slice(10)}`))]
    if (to !== CONTRACT || token === undefined) {
      return { jsonrpc: '2.0', id, error: { code: 3, message: 'execution reverted' } }
    }
    // A collection of version 1.
    if (data.startsWith('0xa778c930')) return { jsonrpc: '2.0', id, error: { code: 3, message: 'execution reverted' } }
    const result = data.startsWith('0x6352211e')
      ? `0x${word(token.owner.slice(2).toLowerCase())}`
      : abiString(token.uri)
    return { jsonrpc: '2.0', id, result }
  }
  const files = Object.values(tokens).map(({ uri, metadata }) => [
    uri.replace('ipfs://', '/ipfs/'),
    (): Reply => ({ body: metadata }),
  ])
  return {
    '/rpc/polygon': (body: never): Reply => ({
      body: Array.isArray(body) ? (body as never[]).map(answer) : answer(body),
    }),
    ...Object.fromEntries(files),
  }
}

export const token = (number: number, name: string, description: string, more: Partial<Token> = {}): Token => ({
  owner: OWNER,
  uri: `${URI}/${number - 1}.json`,
  metadata: { name, description },
  ...more,
})
