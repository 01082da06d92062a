import { onTestFinished } from 'vitest'
import { startNode } from './rpc-node.ts'

/** A node that responds to JSON-RPC from a fixed table, for code that only reads from a network. */
export async function rpcStandIn(answers: Readonly<Record<string, unknown>>): Promise<string> {
  const node = await startNode(answers)
  onTestFinished(() => node.close())
  return node.url
}
