import { useState } from 'preact/hooks'
import { Title } from './text.tsx'

/** Of more letters, the first lines are shown until all of them are asked for. */
const LONG = 120

/** The title of what a page is about: of any length, in any script. */
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
          {all ? 'Show less' : 'Show all of it'}
        </button>
      )}
    </div>
  )
}
