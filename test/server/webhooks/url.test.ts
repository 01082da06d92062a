import { expect, it } from 'vitest'
import { checkWebhookUrl } from '../../../src/server/admin/webhook-url.ts'

it.each([
  ['https://example.com/hooks/gdn', false],
  ['https://example.com:443/hooks?x=1', false],
  ['http://localhost:3000/hook', true],
  ['http://127.0.0.1:3000/hook', true],
  ['http://[::1]:3000/hook', true],
  ['http://192.168.1.20/hook', true],
  ['http://app:3000/hook', true],
  ['https://hooks.internal:8443/', true],
])('accepts %s (private: %s)', (url, isPrivate) => {
  expect(checkWebhookUrl(url, '<url>')).toEqual({ href: new URL(url).href, isPrivate })
})

it.each([
  ['example.com/hook', /^must be an https URL$/],
  ['localhost:3000/hook', /^must be an https URL$/],
  ['ftp://example.com/', /^must be an https URL$/],
  ['http://example.com/hook', /^must be an https URL, because the host is public$/],
  ['http://93.184.215.14/hook', /^must be an https URL, because the host is public$/],
  ['https://example.com:8443/', /^must use port 443, not 8443, because the host is public$/],
  ['https://a:b@example.com/', /user name or password/],
  ['https://example.com/#x', /fragment/],
  ['http://169.254.169.254/latest', /metadata service/],
  ['http://[::ffff:a9fe:a9fe]/', /metadata service/],
  [`https://example.com/${'x'.repeat(2000)}`, /longer than 2000/],
])('rejects %s', (url, message) => {
  expect(() => checkWebhookUrl(url, '<url>')).toThrow(
    expect.objectContaining({ code: 'usage', message: expect.stringMatching(message) }),
  )
})
