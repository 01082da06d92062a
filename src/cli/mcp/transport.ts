import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import {
  ErrorCode,
  type JSONRPCMessage,
  JSONRPCMessageSchema,
  type RequestId,
} from '@modelcontextprotocol/sdk/types.js'
import { GdnError } from '../../core/errors.ts'
import { parseJson } from '../../core/json.ts'
import type { Io } from '../io/io.ts'

const MAX_MESSAGE_BYTES = 8 * 1024 * 1024
const NEWLINE_BYTE = 10

/**
 * Transports JSON-RPC messages over standard input and output, one message per line. Responds with an error to a line
 * that isn't a message. After the input ends, closes as soon as all requests have a response.
 */
export class StdioTransport implements Transport {
  onmessage?: (message: JSONRPCMessage) => void
  onclose?: () => void
  readonly #io: Pick<Io, 'stdin' | 'data'>
  readonly #unansweredIds = new Set<RequestId>()
  #receivedBytes = Buffer.alloc(0)
  #hasEnded = false
  #problem: GdnError | null = null
  readonly #onData = (chunk: Buffer) => this.#receive(chunk)
  readonly #onEnd = () => this.#end()

  constructor(io: Pick<Io, 'stdin' | 'data'>) {
    this.#io = io
  }

  /** The error that closed the transport before the input ended; null if there is none. */
  get problem(): GdnError | null {
    return this.#problem
  }

  async start(): Promise<void> {
    const { stdin } = this.#io
    stdin.on('data', this.#onData)
    for (const event of ['end', 'close', 'error']) stdin.once(event, this.#onEnd)
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const isResponse = 'result' in message || 'error' in message
    const shownMessage = 'error' in message ? { ...message, error: shortenValidationError(message.error) } : message
    // Send every message through `data`, which redacts secrets.
    await this.#io.data(`${JSON.stringify(shownMessage)}\n`)
    if (isResponse && message.id !== undefined) this.#settle(message.id)
  }

  async close(): Promise<void> {
    const { stdin } = this.#io
    stdin.off('data', this.#onData)
    for (const event of ['end', 'close', 'error']) stdin.off(event, this.#onEnd)
    stdin.pause()
    this.#receivedBytes = Buffer.alloc(0)
    this.onclose?.()
  }

  #receive(chunk: Buffer): void {
    this.#receivedBytes = Buffer.concat([this.#receivedBytes, chunk])
    for (
      let end = this.#receivedBytes.indexOf(NEWLINE_BYTE);
      end !== -1;
      end = this.#receivedBytes.indexOf(NEWLINE_BYTE)
    ) {
      const line = this.#receivedBytes.toString('utf8', 0, end)
      this.#receivedBytes = this.#receivedBytes.subarray(end + 1)
      this.#read(line)
    }
    if (this.#receivedBytes.length <= MAX_MESSAGE_BYTES) return
    this.#problem = new GdnError('invalid_input', `a message is larger than ${MAX_MESSAGE_BYTES} bytes`, {
      place: { file: 'stdin' },
    })
    void this.close()
  }

  #read(line: string): void {
    if (line.trim() === '') return
    const messageOrProblem = parseMessage(line)
    if ('problem' in messageOrProblem) {
      void this.#io.data(
        `${JSON.stringify({ jsonrpc: '2.0', id: messageOrProblem.id, error: messageOrProblem.problem })}\n`,
      )
      return
    }
    const { message } = messageOrProblem
    if ('method' in message) {
      if ('id' in message) this.#unansweredIds.add(message.id)
      // Don't wait for a response to a canceled request, because the SDK sends none.
      if (message.method === 'notifications/cancelled') this.#settle(message.params?.requestId as RequestId)
    }
    this.onmessage?.(message)
  }

  #end(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    // The last line may not end with a line feed.
    this.#read(this.#receivedBytes.toString('utf8'))
    this.#receivedBytes = Buffer.alloc(0)
    this.#closeIfDone()
  }

  #settle(id: RequestId): void {
    this.#unansweredIds.delete(id)
    this.#closeIfDone()
  }

  #closeIfDone(): void {
    if (this.#hasEnded && this.#unansweredIds.size === 0) void this.close()
  }
}

interface RpcError {
  code: number
  message: string
}

/**
 * Parses a line. Returns the message, or the error to respond with and the ID of the request; null if the line has no
 * ID.
 */
function parseMessage(line: string): { message: JSONRPCMessage } | { id: RequestId | null; problem: RpcError } {
  const json = parseJson(line)
  if (json === undefined) {
    return { id: null, problem: { code: ErrorCode.ParseError, message: 'Parse error: the line is not JSON' } }
  }
  const { data: message } = JSONRPCMessageSchema.safeParse(json)
  if (message !== undefined) return { message }
  const { id: rawId, method, params } = Object(json) as Record<string, unknown>
  const id = typeof rawId === 'string' || Number.isInteger(rawId) ? (rawId as RequestId) : null
  const problem =
    id !== null && typeof method === 'string' && params !== undefined
      ? { code: ErrorCode.InvalidParams, message: 'Invalid params: params is not an object' }
      : { code: ErrorCode.InvalidRequest, message: 'Invalid request: the line is not a message of JSON-RPC 2.0' }
  return { id, problem }
}

/**
 * Replaces a list of validation problems with the first problem. The SDK would send the whole list as an internal
 * error.
 */
function shortenValidationError(error: RpcError): RpcError {
  const issues = error.code === ErrorCode.InternalError ? parseJson(error.message) : undefined
  if (!Array.isArray(issues)) return error
  const [{ path, message }] = issues as [{ path: string[]; message: string }]
  const why = message.replace(/^Invalid input: /, '')
  return { code: ErrorCode.InvalidParams, message: `Invalid params: ${path.join('.')}: ${why}` }
}
