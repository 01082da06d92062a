import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import type { ToolResponse } from '../../src/cli/mcp/tool-response.ts'
import { GDN_BIN } from './gdn-bin.ts'

export interface ToolResult {
  content: { type: string; text: string }[]
  /** What both texts say. */
  answer: ToolResponse
  isError?: boolean | undefined
}

export interface Agent {
  client: Client
  pid: number
  /** Everything that the server sent. */
  received(): string
  call(name: string, values?: object, options?: Parameters<Client['callTool']>[2]): Promise<ToolResult>
  /** Plans, then does the plan. Throws what either reports. */
  make(name: string, values: object): Promise<ToolResponse>
  close(): Promise<void>
}

interface AgentEnvironment {
  cwd: string
  env: Record<string, string>
}

/** The SDK's client, connected to the built `gdn mcp` in a process of its own. */
export async function startAgent(flags: readonly string[], { cwd, env }: AgentEnvironment): Promise<Agent> {
  const transport = new StdioClientTransport({
    command: process.env.GDN_TEST_NODE ?? process.execPath,
    args: [GDN_BIN, 'mcp', ...flags],
    env,
    cwd,
    stderr: 'pipe',
  })
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(transport)
  let text = ''
  const { onmessage } = transport
  transport.onmessage = (message, ...rest) => {
    text += `${JSON.stringify(message)}\n`
    onmessage?.(message, ...rest)
  }
  const call: Agent['call'] = async (name, values = {}, options) => {
    const result = await client.callTool({ name, arguments: { ...values } }, undefined, options)
    const { content, isError } = result as Omit<ToolResult, 'answer'>
    return { content, isError, answer: answerIn(content) }
  }
  return {
    client,
    pid: transport.pid ?? 0,
    received: () => text,
    call,
    async make(name, values) {
      const { answer: plan } = await call(name, values)
      if (plan.status !== 'planned') throw new Error(`${name} was not planned: ${JSON.stringify(plan)}`)
      const { answer } = await call(name, { dry_run: false, plan_id: plan.plan_id })
      if (answer.status !== 'ok') throw new Error(`${name} failed: ${JSON.stringify(answer)}`)
      return answer
    },
    close: () => client.close(),
  }
}

/** Reads the line of gdn, and the data between the two lines with the marker. */
function answerIn([ours, marked]: ToolResult['content']): ToolResponse {
  const outcome = marked === undefined ? { data: null, error: null } : JSON.parse(marked.text.split('\n')[2] ?? '')
  return { ...JSON.parse(ours?.text ?? ''), ...outcome }
}
