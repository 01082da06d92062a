import { useEffect, useRef, useState } from 'preact/hooks'
import type { SearchResult } from '../../server/explorer/types.ts'
import { buildQuery, get } from '../api.ts'
import { go, useAddress } from '../navigate.ts'
import { pathTo, routeOf } from '../routes.ts'
import { Hit, hitPath, mergeHits } from './hits.tsx'
import { Icon } from './icon.tsx'

const SEARCH_DELAY_MS = 160
const MAX_SHOWN_HITS = 8

const isTyping = (target: EventTarget | null) =>
  target instanceof HTMLElement &&
  (target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName))

/**
 * The search field in the page header. It searches while the user types. The arrow keys select a hit, and Enter opens
 * it.
 */
export function SearchBox() {
  const input = useRef<HTMLInputElement>(null)
  const box = useRef<HTMLFormElement>(null)
  const [text, setText] = useState('')
  const [answer, setAnswer] = useState<{ q: string; result: SearchResult } | null>(null)
  const [isOpen, setOpen] = useState(false)
  const [chosen, setChosen] = useState(-1)
  const address = useAddress()

  useEffect(() => {
    const route = routeOf(new URL(address, location.origin))
    setText(route.page === 'search' ? route.q : '')
    setOpen(false)
  }, [address])

  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
      event.preventDefault()
      input.current?.focus()
      input.current?.select()
    }
    const onDown = ({ target }: PointerEvent) => {
      if (target instanceof Node && box.current?.contains(target) === false) setOpen(false)
    }
    addEventListener('keydown', onKey)
    addEventListener('pointerdown', onDown)
    return () => {
      removeEventListener('keydown', onKey)
      removeEventListener('pointerdown', onDown)
    }
  }, [])

  const q = text.trim()
  useEffect(() => {
    if (!isOpen || q === '') return
    const request = new AbortController()
    const timer = setTimeout(async () => {
      try {
        const result = await get<SearchResult>(`search${buildQuery({ q })}`, request.signal)
        setAnswer({ q, result })
        setChosen(-1)
      } catch {
        // Ignore the error, because the page shows the server's message. There are no hits to select.
      }
    }, SEARCH_DELAY_MS)
    return () => {
      clearTimeout(timer)
      request.abort()
    }
  }, [q, isOpen])

  const hits = answer !== null && q !== '' ? mergeHits(answer.result).slice(0, MAX_SHOWN_HITS) : []
  const showsList = isOpen && q !== '' && answer !== null
  const leave = (path: string) => {
    setOpen(false)
    input.current?.blur()
    go(path)
  }
  const submit = (event: Event) => {
    event.preventDefault()
    const hit = hits[chosen]
    if (hit !== undefined && isOpen) leave(hitPath(hit))
    else if (q !== '') leave(pathTo.go(q))
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (event.key === 'Escape') {
      if (!isOpen) input.current?.blur()
      setOpen(false)
    }
    if (step === 0 || hits.length === 0) return
    event.preventDefault()
    setOpen(true)
    const next = chosen + step
    setChosen(next < -1 ? hits.length - 1 : next >= hits.length ? -1 : next)
  }
  return (
    <search class="search">
      <form ref={box} onSubmit={submit}>
        <Icon name="search" size={17} />
        <input
          ref={input}
          type="text"
          role="combobox"
          enterkeyhint="search"
          aria-label="Search by title, ID, address or owner"
          aria-expanded={showsList}
          aria-controls="search-hits"
          aria-autocomplete="list"
          aria-activedescendant={chosen < 0 || !showsList ? undefined : `search-hit-${chosen}`}
          aria-keyshortcuts="/"
          placeholder="Search title, ID, address, owner"
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          maxLength={300}
          dir="auto"
          value={text}
          onInput={({ currentTarget }) => {
            setText(currentTarget.value)
            setOpen(true)
          }}
          onFocus={() => setOpen(true)}
          onKeyDown={onKeyDown}
        />
        <span class="key" aria-hidden="true">
          /
        </span>
        <div class="search-hits" hidden={!showsList}>
          <div id="search-hits" role="listbox" aria-label="Search results">
            {hits.map((hit, index) => (
              // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the field
              // biome-ignore lint/a11y/useKeyWithClickEvents: the field handles the keys
              <div
                key={hitPath(hit)}
                id={`search-hit-${index}`}
                role="option"
                aria-selected={index === chosen}
                class="hit"
                onPointerMove={() => setChosen(index)}
                onClick={() => leave(hitPath(hit))}
              >
                <Hit hit={hit} />
              </div>
            ))}
          </div>
          {showsList && hits.length === 0 && <p class="search-none">Nothing found</p>}
        </div>
        <span class="visually-hidden" role="status">
          {showsList ? `${hits.length} found` : ''}
        </span>
      </form>
    </search>
  )
}
