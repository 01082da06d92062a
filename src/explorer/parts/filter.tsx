import { Icon } from './icon.tsx'

interface FilterProps {
  /** The label for screen readers. It isn't visible. */
  label: string
  placeholder: string
  text: string
  onText: (text: string) => void
}

/** A field that filters the list below it. */
export const Filter = ({ label, placeholder, text, onText }: FilterProps) => (
  <label class="filter">
    <span class="visually-hidden">{label}</span>
    <Icon name="search" size={15} />
    <input
      type="search"
      placeholder={placeholder}
      value={text}
      dir="auto"
      maxLength={300}
      spellcheck={false}
      autocomplete="off"
      onInput={({ currentTarget }) => onText(currentTarget.value)}
    />
  </label>
)
