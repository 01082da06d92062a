import { isBlockchain } from '../api/blockchains.ts'
import type { EndpointName } from '../api/endpoints.ts'
import { errorFormASchema, errorFormBSchema } from '../api/errors.ts'
import { HEADERS, REFERENCE_ERRORS, SHUFFLE_ERRORS, VALUE_ERRORS } from '../api/headers.ts'
import { type ErrorCode, GdnError } from '../core/errors.ts'
import { parseJson } from '../core/json.ts'
import { redactText } from '../core/redact.ts'
import {
  badResponseError,
  describeResponse,
  isBackendNotReady,
  isTemporaryRefusal,
  type ResponseDetails,
} from './responses.ts'
import type { TransportResponse } from './transport.ts'

/** Returns the error for a response whose status isn't 2xx. */
export function responseError(name: EndpointName | string, url: string, response: TransportResponse): GdnError {
  const errorForm = readErrorForm(parseJson(response.body))
  const details: ResponseDetails = { status: response.status, ...errorForm }
  const reason = errorForm === null ? describeResponse(response) : formatErrorContent(errorForm)
  const code = response.headers[HEADERS.errorCode]
  const codedError = (code: ErrorCode, message: string, hint: string | undefined) =>
    new GdnError(code, message, { hint, details })
  if (isBackendNotReady(response)) {
    const hint =
      'Nothing was accepted. Fund the signer or set up the network, as the error describes. Then repeat the request.'
    return codedError('not_ready', errorForm?.message ?? reason, hint)
  }
  if (isTemporaryRefusal(response)) {
    return codedError('unreachable', `the server is temporarily unavailable: ${reason}`, 'Try again later.')
  }
  if (code === REFERENCE_ERRORS.conflict) {
    const hint = 'Nothing was created. Use another ID, or send the content that belongs to this ID.'
    return codedError('refused', reason, hint)
  }
  if (code === SHUFFLE_ERRORS.notFinal) {
    const hint = 'Nothing was sent to the chain. Run the command again later.'
    return new GdnError('refused', reason, { hint, details: { ...details, code } })
  }
  if (code === VALUE_ERRORS.hasValue) {
    const hint =
      'Run the same command again for the blockchain that the message names, or add --yes to confirm the cost.'
    return codedError('not_confirmed', reason, hint)
  }
  switch (response.status) {
    case 401: {
      const hint = `Set GDN_API_KEY, or run \`gdn auth login --base-url ${new URL(url).origin}\`.`
      return codedError('unauthorized', `the server requires a valid API key: ${reason}`, hint)
    }
    case 403: {
      const message = `the API key is not permitted to use ${name}: ${reason}`
      return codedError('forbidden', message, 'Check the permissions of the key, or use another key.')
    }
    case 429: {
      const message = `the server's rate limit was reached: ${reason}`
      return codedError('rate_limited', message, 'Wait and try again, or set a lower --rate.')
    }
    default:
      return errorForm !== null && response.status >= 400 && response.status < 500
        ? codedError('refused', reason, refusalHint(reason))
        : badResponseError(url, response)
  }
}

/** Returns a hint for an error about a collection, or undefined if there is none. */
function refusalHint(reason: string): string | undefined {
  if (reason.includes('enable_transfer')) {
    return 'The owner of the collection can permit transfers. Run `gdn collection set <contract_address> --enable-transfer --wallet <owner>`.'
  }
  if (reason.endsWith('is not a collection of this account')) {
    return 'Check the address: `gdn collection list` lists the collections created on this machine. If another account created the collection, use an API key of that account. `gdn auth status` shows the key in use.'
  }
  const blockchain = /that collection is on ([\w-]+)$/.exec(reason)?.[1]
  return blockchain !== undefined && isBlockchain(blockchain) ? `Add -b ${blockchain}.` : undefined
}

/** Maximum number of problems in an error, because a response can be megabytes long. gdn backends return at most 50. */
const MAX_FAULTS = 100
const MAX_ERROR_TEXT_LENGTH = 10_000

/** Truncates a text after redacting it, because a truncated secret would not be recognized. */
const truncate = (text: string): string =>
  text.length <= MAX_ERROR_TEXT_LENGTH ? text : `${redactText(text).slice(0, MAX_ERROR_TEXT_LENGTH).toWellFormed()}…`

type ErrorContent = { title: string; message: string; faults?: { field: string; message: string }[] }

function readErrorForm(json: unknown): ErrorContent | null {
  const formA = errorFormASchema.safeParse(json)
  if (formA.success) return { title: truncate(formA.data.error.title), message: truncate(formA.data.error.message) }
  const formB = errorFormBSchema.safeParse(json)
  if (!formB.success) return null
  const { errorCode, message, detail } = formB.data
  const faults = detail
    .slice(0, MAX_FAULTS)
    .map(({ loc, msg }) => ({ field: truncate(loc.slice(1).join('.')), message: truncate(msg) }))
  return { title: truncate(errorCode), message: truncate(message), faults }
}

function formatErrorContent({ title, message, faults }: ErrorContent): string {
  const listed = (faults ?? []).map((fault) => (fault.field === '' ? fault.message : `${fault.field} ${fault.message}`))
  return truncate([message === '' ? title : `${title}: ${message}`, ...listed].join('; '))
}
