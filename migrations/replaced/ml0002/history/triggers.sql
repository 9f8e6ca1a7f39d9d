create or replace trigger memory_derived
  before insert or update on memlayer.memory
  for each row execute function memlayer.derive_memory();

create or replace trigger memory_history_insert
  after insert or delete on memlayer.memory
  for each row execute function memlayer.record_history();

-- The version moves exactly when something moved that history keeps.
create or replace trigger memory_history_update
  after update on memlayer.memory
  for each row when (new.version <> old.version) execute function memlayer.record_history();

create or replace trigger memory_no_truncate
  before truncate on memlayer.memory
  for each statement execute function memlayer.refuse_truncate();

create or replace trigger history_no_truncate
  before truncate on memlayer.history
  for each statement execute function memlayer.refuse_truncate();

comment on trigger memory_derived on memlayer.memory is 'Derives columns and checks limits.';
comment on trigger memory_history_insert on memlayer.memory is 'Writes the history of additions and deletions.';
comment on trigger memory_history_update on memlayer.memory is 'Writes the history of changes.';
comment on trigger memory_no_truncate on memlayer.memory is 'Refuses TRUNCATE.';
comment on trigger history_no_truncate on memlayer.history is 'Refuses TRUNCATE.';
