import { RlError } from '../errors.ts'

/** Body of every error answer, in the form that OpenAI's clients read. */
export type ErrorBody = {
  readonly error: {
    readonly message: string
    readonly type: string
    readonly param: string | null
    readonly code: string | null
  }
}

export type ErrorStatus = 400 | 401 | 403 | 404 | 409 | 410 | 413 | 429 | 500 | 502 | 503 | 504

/** An error with its HTTP status. */
export class ApiError extends RlError {
  override readonly name = 'ApiError'
  readonly status: ErrorStatus
  readonly body: ErrorBody

  constructor(status: ErrorStatus, body: ErrorBody) {
    super(body.error.message, { code: `http.${status}` })
    this.status = status
    this.body = body
  }
}

export function apiError(
  status: ErrorStatus,
  message: string,
  { param = null, code = null }: { readonly param?: string | null; readonly code?: string | null } = {},
): ApiError {
  const type =
    status === 401
      ? 'authentication_error'
      : status === 429
        ? 'rate_limit_error'
        : status >= 500
          ? 'server_error'
          : 'invalid_request_error'
  return new ApiError(status, { error: { message, type, param, code } })
}

export function unauthorised(): ApiError {
  return apiError(401, 'the bearer token is missing or wrong', { code: 'invalid_api_key' })
}

export function bodyTooLarge(maxBytes: number): ApiError {
  return apiError(413, `the body is larger than ${maxBytes} bytes`, { code: 'body_too_large' })
}

/** Returns the header that asks a client to try again, if the status passes. */
export function retryHeader(status: number): Readonly<Record<string, string>> {
  return status === 429 || status === 503 ? { 'retry-after': '1' } : {}
}

/** Returns the answer for a thrown error. It tells nothing about the inside of the server. */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  if (!(error instanceof RlError)) return apiError(500, 'the server failed')
  const message = error.hint ? `${error.message} - ${error.hint}` : error.message
  switch (error.code) {
    case 'model.context':
      return apiError(400, message, { code: 'context_length_exceeded' })
    case 'model.input':
    case 'model.choices':
    case 'model.tokenizer':
      return apiError(400, message, { code: 'invalid_value' })
    case 'model.cache-full':
    case 'model.closed':
    case 'model.crashed':
      return apiError(503, message, { code: error.code })
    default:
      return apiError(500, message, { code: error.code })
  }
}
