import { EXIT_BY_CODE, formatProblem, GdnError, messageOf } from '../../core/errors.ts'
import type { CommandOutcome } from './call.ts'

/** A tool's response. Only `data` and `error` contain third-party text. */
export interface ToolResponse {
  status: 'ok' | 'planned' | 'running' | 'error'
  exit_code: number | null
  plan_id: string | null
  /** Cost of the plan, in sentences. */
  cost?: string | undefined
  /** The next step for the agent. */
  next: string | null
  page: Page | null
  data: unknown
  error: CommandOutcome['error']
}

/** The position of `data` in a longer result, as a number of list records or of JSON characters. */
interface Page {
  offset: number
  returned: number
  total: number
  next_offset: number | null
}

/** Maximum length of the data in characters. This is about 10,000 tokens. */
const MAX_RESPONSE_CHARACTERS = 40_000

const EMPTY_RESPONSE: ToolResponse = {
  status: 'ok',
  exit_code: null,
  plan_id: null,
  next: null,
  page: null,
  data: null,
  error: null,
}

/** Returns the response of a read-only tool, with the data that starts at an offset. */
export function pagedResponse({ code, data, error }: CommandOutcome, offset: number): ToolResponse {
  const part = takePage(data, offset)
  const failed = error ?? {
    code: toErrorCode(code),
    message: 'The data lists the problems.',
    hint: null,
    details: null,
  }
  const isError = code !== 0 && !(code === 10 && error === null)
  return {
    ...EMPTY_RESPONSE,
    ...part,
    status: isError ? 'error' : 'ok',
    exit_code: code,
    error: isError ? failed : null,
  }
}

/** Returns the main error code for an exit code, for commands that report problems as data, such as `gdn doctor`. */
const toErrorCode = (exitCode: number): string =>
  Object.entries(EXIT_BY_CODE).find(([, exit]) => exit === exitCode)?.[0] ?? 'unexpected'

/** Returns the response of a tool without an offset parameter, with the beginning of the data. */
export function firstPageResponse(outcome: CommandOutcome): ToolResponse {
  const { page, ...answer } = pagedResponse(outcome, 0)
  return { ...answer, page: page && { ...page, next_offset: null } }
}

/** Returns the response to a call whose plan is still running. */
export const runningResponse = (plan_id: string, next: string, data: object): ToolResponse => ({
  ...EMPTY_RESPONSE,
  status: 'running',
  plan_id,
  next,
  data,
})

export function failedResponse(error: unknown): ToolResponse {
  const gdnError = error instanceof GdnError ? error : null
  const { code = 'unexpected', hint = null, details = null, exitCode = 1 } = gdnError ?? {}
  const message = gdnError === null ? messageOf(error) : formatProblem(gdnError)
  return { ...EMPTY_RESPONSE, status: 'error', exit_code: exitCode, error: { code, message, hint, details } }
}

/** Returns as much of the data as fits into a response, starting at an offset. */
function takePage(data: unknown, offset: number): { data: unknown; page: Page | null } {
  if (Array.isArray(data)) {
    let chars = 0
    let end = offset
    while (end < data.length) {
      chars += JSON.stringify(data[end]).length + 1
      if (chars > MAX_RESPONSE_CHARACTERS && end > offset) break
      end += 1
    }
    const part = data.slice(offset, end)
    if (chars <= MAX_RESPONSE_CHARACTERS || part.length > 1) {
      const next_offset = end < data.length ? end : null
      const isWhole = offset === 0 && next_offset === null
      return { data: part, page: isWhole ? null : { offset, returned: part.length, total: data.length, next_offset } }
    }
  }
  const text = JSON.stringify(data) ?? 'null'
  if (text.length <= MAX_RESPONSE_CHARACTERS && offset === 0) return { data, page: null }
  const part = text.slice(offset, offset + MAX_RESPONSE_CHARACTERS)
  const end = offset + part.length
  const next_offset = end < text.length ? end : null
  return { data: part, page: { offset, returned: part.length, total: text.length, next_offset } }
}
