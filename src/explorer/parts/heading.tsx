import { useState } from 'preact/hooks'
import { Title } from './text.tsx'

/** A longer title is clamped until all of it is requested. */
const LONG = 120

/** The title of a page, of any length and in any script. */
export function Heading({ text }: { text: string }) {
  const [all, setAll] = useState(false)
  const isLong = text.length > LONG || text.split('\n').length > 3
  return (
    <div class="heading">
      <h1 class={[text.length > 60 ? 'long' : '', isLong && !all ? 'clamped' : ''].join(' ').trim()} dir="auto">
        <Title text={text} />
      </h1>
      {isLong && (
        <button type="button" class="link" aria-expanded={all} onClick={() => setAll(!all)}>
          {all ? 'Show less' : 'Show all'}
        </button>
      )}
    </div>
  )
}
