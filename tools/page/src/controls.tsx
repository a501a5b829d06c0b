/** Controls that several views have. */

interface ChooseProps {
  label: string;
  name: string;
  value: string;
  /** Value and text of each. */
  options: readonly (readonly [string, string])[];
  set: (value: string) => void;
  /** Whether the label is for who hears the page only. */
  unlabelled?: boolean;
}

export function Choose({ label, name, value, options, set, unlabelled }: ChooseProps) {
  return (
    <label class={unlabelled ? "choose" : "field inline"}>
      <span class={unlabelled ? "hidden" : undefined}>{label}</span>
      <select name={name} value={value} onChange={(event) => set(event.currentTarget.value)}>
        {options.map(([id, text]) => (
          <option key={id} value={id}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

interface SwitchProps {
  legend: string;
  name: string;
  choices: Record<string, string>;
  value: string;
  set: (value: string) => void;
}

export function Switch({ legend, name, choices, value, set }: SwitchProps) {
  return (
    <fieldset class="switch">
      <legend class="hidden">{legend}</legend>
      {Object.entries(choices).map(([id, label]) => (
        <label key={id}>
          <input type="radio" name={name} value={id} checked={id === value} onChange={() => set(id)} />
          <span>{label}</span>
        </label>
      ))}
    </fieldset>
  );
}
