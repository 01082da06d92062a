/** The error of a failed request. It contains the server's message if there was a response. */
export class ApiError extends Error {
  /** HTTP status; 0 if there was no response. */
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.name = 'ApiError'
    this.status = status
  }
}

type Listener = (error: ApiError) => void
const listeners = new Set<Listener>()

/**
 * Registers a listener for failed requests, regardless of whether there was a response. Returns a function that removes
 * the listener.
 */
export function onFailure(listener: Listener): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function reportFailure(error: ApiError): ApiError {
  for (const listener of listeners) listener(error)
  return error
}

/**
 * Sends a GET request for JSON below `/explorer/`.
 *
 * @throws ApiError, or the signal's reason if the request is aborted
 */
export const get = <Answer>(path: string, signal?: AbortSignal): Promise<Answer> =>
  sendRequest<Answer>(path, { signal: signal ?? null })

export const post = <Answer>(path: string, body: unknown): Promise<Answer> =>
  sendRequest<Answer>(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })

async function sendRequest<Answer>(path: string, init: RequestInit): Promise<Answer> {
  let response: Response
  let text: string
  try {
    response = await fetch(`/explorer/${path}`, { ...init, credentials: 'same-origin', cache: 'no-store' })
    text = await response.text()
  } catch (error) {
    if (init.signal?.aborted) throw error
    throw reportFailure(new ApiError(0, 'The server does not respond.'))
  }
  if (response.ok) return JSON.parse(text) as Answer
  throw reportFailure(
    new ApiError(response.status, parseErrorMessage(text) ?? `The server returned HTTP ${response.status}.`),
  )
}

/** Returns the message of an API error as a sentence, with a capital letter and a full stop; null for other text. */
function parseErrorMessage(text: string): string | null {
  try {
    const { error } = JSON.parse(text) as { error?: { message?: unknown } }
    if (typeof error?.message !== 'string' || error.message === '') return null
    const { message } = error
    return `${message.charAt(0).toUpperCase()}${message.slice(1)}${/[.!?]$/.test(message) ? '' : '.'}`
  } catch {
    return null
  }
}

/** Builds a query string. Omits parameters that are undefined, null or empty. */
export function buildQuery(parameters: Readonly<Record<string, string | number | null | undefined>>): string {
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== null && value !== '') params.set(name, String(value))
  }
  const text = params.toString()
  return text === '' ? '' : `?${text}`
}
