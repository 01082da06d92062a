import { useState } from 'preact/hooks'
import { Title } from './text.tsx'

/** Maximum length of an unclamped title. A longer title is clamped until the user expands it. */
const MAX_TITLE_LENGTH = 120

/** The title of a page. It may have any length and script. */
export function Heading({ text }: { text: string }) {
  const [all, setAll] = useState(false)
  const isLong = text.length > MAX_TITLE_LENGTH || text.split('\n').length > 3
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
