import { useState } from 'preact/hooks'
import { count, groupDigits } from '../format.ts'
import { Copy } from './copy.tsx'
import { Icon } from './icon.tsx'

/**
 * The maximum text length and number of members to render at once. Rendering a megabyte at once would block the page.
 */
const FIRST_TEXT_LENGTH = 400
const NEXT_TEXT_LENGTH = 20_000
const MEMBERS_PER_PAGE = 50
const OPEN_DEPTH = 2

/** A JSON tree whose collapsed parts aren't rendered. */
export function Json({ value, what }: { value: unknown; what: string }) {
  return (
    <div class="json">
      <div class="json-tools">
        <Copy text={() => JSON.stringify(value, null, 2)} what={what} />
      </div>
      <div class="json-body">
        <Node value={value} depth={0} />
      </div>
    </div>
  )
}

function Node({ value, depth }: { value: unknown; depth: number }) {
  if (typeof value === 'string') return <Text text={value} />
  if (value === null || typeof value !== 'object') {
    return <span class={`json-${value === null ? 'null' : typeof value}`}>{String(value)}</span>
  }
  const isList = Array.isArray(value)
  const members = isList ? value.map((item, index) => [index, item] as const) : Object.entries(value)
  if (members.length === 0) return <span class="json-null">{isList ? '[ ]' : '{ }'}</span>
  return <Branch members={members} isList={isList} depth={depth} />
}

function Branch({
  members,
  isList,
  depth,
}: {
  members: readonly (readonly [name: string | number, value: unknown])[]
  isList: boolean
  depth: number
}) {
  const [open, setOpen] = useState(depth < OPEN_DEPTH && members.length <= MEMBERS_PER_PAGE)
  const [shown, setShown] = useState(MEMBERS_PER_PAGE)
  const label = count(members.length, isList ? 'item' : 'field')
  return (
    <>
      <button type="button" class="json-toggle" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name={open ? 'down' : 'right'} size={12} />
        {label}
      </button>
      {open && (
        <ul class="json-members">
          {members.slice(0, shown).map(([name, value]) => (
            <li key={name}>
              <bdi class={isList ? 'json-index' : 'json-name'}>{name}</bdi>
              <Node value={value} depth={depth + 1} />
            </li>
          ))}
          {shown < members.length && (
            <li>
              <button type="button" class="link" onClick={() => setShown(shown + MEMBERS_PER_PAGE * 4)}>
                {groupDigits(members.length - shown)} more
              </button>
            </li>
          )}
        </ul>
      )}
    </>
  )
}

function Text({ text }: { text: string }) {
  const [shown, setShown] = useState(FIRST_TEXT_LENGTH)
  const isCut = text.length > shown
  return (
    <span class="json-string">
      <bdi>{isCut ? `${text.slice(0, shown)}…` : text}</bdi>
      {isCut && (
        <button type="button" class="link" onClick={() => setShown(shown + NEXT_TEXT_LENGTH)}>
          {count(text.length - shown, 'character')} more
        </button>
      )}
    </span>
  )
}
