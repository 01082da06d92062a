import { onTestFinished } from 'vitest'
import { startNode } from './rpc-node.ts'

/** A node that answers JSON-RPC by a table, for what asks a network and changes nothing. */
export async function rpcStandIn(answers: Readonly<Record<string, unknown>>): Promise<string> {
  const node = await startNode(answers)
  onTestFinished(() => node.close())
  return node.url
}
