import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { formatIssue, formatPath, validate } from '../../src/api/validate.ts'

const sentences = (schema: z.ZodType, value: unknown): string[] => {
  const result = validate(schema, value)
  return result.ok ? [] : result.issues.map(formatIssue)
}

describe('an error message begins with the field', () => {
  const schema = z.strictObject({
    name: z.string(),
    size: z.int().min(1).max(10),
    list: z.array(z.strictObject({ on: z.boolean() })).optional(),
    kind: z.enum(['a', 'b']).optional(),
    mail: z.email().optional(),
  })

  it.each([
    [{ size: 1 }, 'name is required'],
    [{ name: 7, size: 1 }, 'name must be a string, not a number'],
    [{ name: null, size: 1 }, 'name must be a string, not null'],
    [{ name: [], size: 1 }, 'name must be a string, not a list'],
    [{ name: {}, size: 1 }, 'name must be a string, not an object'],
    [{ name: 'x', size: '1' }, 'size must be a number, not a string'],
    [{ name: 'x', size: 11 }, 'size must be at most 10'],
    [{ name: 'x', size: 0 }, 'size must be at least 1'],
    [{ name: 'x', size: 1, list: {} }, 'list must be a list, not an object'],
    [{ name: 'x', size: 1, list: [{ on: true }, { on: 'no' }] }, 'list[1].on must be a boolean, not a string'],
    [{ name: 'x', size: 1, list: [{ on: true, off: 1 }] }, 'list[0].off is not a known field'],
    [{ name: 'x', size: 1, kind: 'c' }, 'kind must be one of a, b'],
    [{ name: 'x', size: 1, mail: 'nobody' }, 'mail is not a valid e-mail address'],
    [[], 'the request must be an object, not a list'],
    ['text', 'the request must be an object, not a string'],
    [null, 'the request must be an object, not null'],
    [undefined, 'the request is required'],
  ])('%j: %s', (value, sentence) => expect(sentences(schema, value)).toEqual([sentence]))

  it('reports all errors at once, with one for each unknown field', () => {
    expect(sentences(schema, { size: 99, extra: 1, more: 2 }).sort()).toEqual([
      'extra is not a known field',
      'more is not a known field',
      'name is required',
      'size must be at most 10',
    ])
  })

  it('lists 1,000 unknown fields of an object and says that there are more', () => {
    const unknown = Object.fromEntries(Array.from({ length: 50_000 }, (_, n) => [`f${n}`, n]))
    const listed = sentences(z.strictObject({}), unknown)
    expect(listed).toHaveLength(1001)
    expect(listed.slice(-2)).toEqual(['f999 is not a known field', 'the request has too many problems to list'])
  })

  it('reports the exceeded limit as a number too', () => {
    const result = validate(schema, { name: 'x', size: 11 })
    expect(result).toMatchObject({ ok: false, issues: [{ path: ['size'], code: 'too_big', limit: 10 }] })
  })
})

describe('field paths', () => {
  it.each([
    [[], ''],
    [['a'], 'a'],
    [['metadata', 0, 'title'], 'metadata[0].title'],
    [[0, 1, 'a'], '[0][1].a'],
  ])('formats %j as %j', (path, place) => expect(formatPath(path)).toBe(place))
})

it('passes on an exception that is not about the value', () => {
  const broken = z.string().check(() => {
    throw new TypeError('a bug')
  })
  expect(() => validate(broken, 'x')).toThrow('a bug')
})
